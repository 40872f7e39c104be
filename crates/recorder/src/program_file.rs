//! A program's file: what tells it from others, and whether a string is in it.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::exports::Elf;

/// No more of a program is searched for strings, in bytes.
const MOST_SEARCHED: u64 = 16 << 20;

/// What tells a file from others, and from itself before it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

/// Whether a string is in what a program loads and does not write to.
pub(crate) fn mentions(program: &File, mark: &[u8]) -> bool {
    mentions_any(program, &[mark])
}

/// Whether one of some strings is in what a program loads and does not write to.
pub(crate) fn mentions_any(program: &File, marks: &[&[u8]]) -> bool {
    let Some(elf) = Elf::open(program) else { return false };
    let mut left = MOST_SEARCHED;
    elf.loaded().iter().filter(|segment| !segment.is_writable).any(|segment| {
        let length = segment.length.min(left);
        left -= length;
        has_string(program, marks, segment.offset, length)
    })
}

/// Whether a part of a file has one of the marks as a string of its own.
fn has_string(file: &File, marks: &[&[u8]], mut offset: u64, length: u64) -> bool {
    let end = offset.saturating_add(length);
    let longest = marks.iter().map(|mark| mark.len()).max().unwrap_or(0);
    let mut buffer = vec![0; 64 << 10];
    // What comes before the string may be in the part before.
    let mut kept = 0;
    while offset < end {
        let wanted = (buffer.len() - kept).min(usize::try_from(end - offset).unwrap_or(usize::MAX));
        let Ok(count @ 1..) = file.read_at(&mut buffer[kept..kept + wanted], offset) else { break };
        let filled = kept + count;
        if buffer[..filled].split(|&byte| byte == 0).any(|string| marks.contains(&string)) {
            return true;
        }
        offset += count as u64;
        kept = filled.min(longest + 1);
        buffer.copy_within(filled - kept..filled, 0);
    }
    false
}

/// `None` of a file that is not to be had any more.
pub(crate) fn identity(program: &File) -> Option<Identity> {
    let metadata = program.metadata().ok()?;
    Some(Identity {
        device: metadata.dev(),
        inode: metadata.ino(),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const MARK: &[u8] = b"A_VARIABLE";

    #[test]
    fn a_string_is_found_wherever_it_lies_and_only_whole() {
        let check = |at: usize, before: &[u8], after: &[u8], expected| {
            let mut file = tempfile::tempfile().unwrap();
            let mut bytes = vec![b'x'; at];
            bytes.extend([before, MARK, after].concat());
            bytes.resize(200_000, b'y');
            file.write_all(&bytes).unwrap();
            assert_eq!(has_string(&file, &[MARK], 0, 200_000), expected, "{at}");
        };
        for at in [0, 1, 65_520, 65_530, 65_535, 65_536, 131_070, 199_900] {
            check(at, b"\0", b"\0", true);
            check(at, b"=", b"\0", false);
            check(at, b"\0", b"=s", false);
        }
    }
}
