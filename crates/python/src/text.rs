//! A `str` of Python's as UTF-8. \[UNSAFE\]

use crate::layout::{self, Text};
use crate::read::Place;

/// Where a text says how it is written.
const STATE: usize = 32;

/// Makes UTF-8 of as much of a text as there is room for, and says how many bytes that is; none of what is no text in one
/// piece.
///
/// # Safety
/// A `str`, which is alive.
pub(crate) unsafe fn read(layout: Text, text: Place, to: &mut [u8]) -> usize {
    // SAFETY: by contract.
    let (length, state): (u64, u32) = unsafe { (text.get(layout::LENGTH), text.get(STATE)) };
    let (width, is_compact, is_ascii) = (state >> 2 & 7, state & 1 << 5 != 0, state & 1 << 6 != 0);
    // No character takes less room than a byte.
    let length = usize::try_from(length).unwrap_or(0).min(to.len());
    if !is_compact {
        return 0;
    }
    let start = if is_ascii { layout.ascii } else { layout.other };
    // SAFETY: by contract; a compact text has its characters there.
    unsafe {
        match width {
            1 if is_ascii => {
                to[..length].copy_from_slice(text.bytes(start, length));
                length
            }
            1 => put(to, (0..length).map(|at| text.get::<u8>(start + at).into())),
            2 => put(to, (0..length).map(|at| text.get::<u16>(start + 2 * at).into())),
            4 => put(to, (0..length).map(|at| text.get::<u32>(start + 4 * at))),
            _ => 0,
        }
    }
}

/// What is no character, as half of a pair is, becomes one that says so.
fn put(to: &mut [u8], characters: impl Iterator<Item = u32>) -> usize {
    let mut end = 0;
    for character in characters {
        let character = char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER);
        let Some(room) = to.get_mut(end..end + character.len_utf8()) else { break };
        end += character.encode_utf8(room).len();
    }
    end
}

#[cfg(test)]
mod tests {
    use std::string::String;
    use std::vec::Vec;

    use super::*;

    const LAYOUT: Text = Text { ascii: 40, other: 56 };

    /// As the interpreter has it, with the state that such a text has.
    fn text(width: u32, is_ascii: bool, characters: &[u32]) -> Vec<u64> {
        let start = if is_ascii { LAYOUT.ascii } else { LAYOUT.other };
        let mut bytes = std::vec![0; start];
        bytes[layout::LENGTH] = characters.len() as u8;
        let state = width << 2 | 1 << 5 | u32::from(is_ascii) << 6;
        bytes[STATE..STATE + 4].copy_from_slice(&state.to_le_bytes());
        let each = characters.iter().flat_map(|it| it.to_le_bytes()[..width as usize].to_vec());
        bytes.extend(each);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.as_chunks().0.iter().map(|it| u64::from_le_bytes(*it)).collect()
    }

    fn check(width: u32, is_ascii: bool, expected: &str, room: usize) {
        let characters: Vec<u32> = expected.chars().map(u32::from).collect();
        let words = text(width, is_ascii, &characters);
        let mut to = std::vec![0; room];
        let place = Place::new(words.as_ptr() as u64).unwrap();
        // SAFETY: as a text is written.
        let length = unsafe { read(LAYOUT, place, &mut to) };
        let found = String::from_utf8(to[..length].to_vec()).unwrap();
        assert!(
            expected.starts_with(&found) && (found == expected || length + 4 > room),
            "{found}"
        );
    }

    #[test]
    fn texts_of_all_widths_are_read() {
        for room in [0, 1, 7, 100] {
            check(1, true, "Class.method", room);
            check(1, false, "é", room);
            check(2, false, "Ωméga_名前", room);
            check(4, false, "a😀b", room);
        }
    }
}
