//! Frames of code without unwind tables, such as virtual machines compile at run time, by the chain of
//! frame pointers.
//!
//! Much of such code keeps one, some does not, and nothing says which. So the chain is followed only if
//! it proves itself: from one frame to the next it goes up the stack by little, each return address is
//! near the code that was met (made code lies together), and it ends at code of a known module. Whether
//! that leads on is for the walker to see. It is followed twice, once for the proof and once to take it.

use super::frame_registers::FrameRegisters;
use super::map::Map;
use super::readable::Readable;

/// Frames in a row of such code.
const MOST: usize = 4096;

/// Frames of such code are no larger, in bytes.
const LARGEST: u64 = 256 << 10;

/// Code that is made lies within so many bytes.
const NEAR: u64 = 1 << 30;

/// How many steps from `frame` of made code at `address` lead to a known module; `None` if none do.
pub fn steps_to_known(
    map: &Map,
    stack: &mut Readable<'_>,
    address: u64,
    mut frame: FrameRegisters,
) -> Option<usize> {
    for steps in 1..=MOST {
        let (caller, above) = step(stack, frame)?;
        if map.knows(caller) {
            return Some(steps);
        }
        if !is_near(address, caller) {
            return None;
        }
        frame = above;
    }
    None
}

/// The frame above one that has a frame pointer, and its return address.
pub fn step(stack: &mut Readable<'_>, frame: FrameRegisters) -> Option<(u64, FrameRegisters)> {
    let is_sound = frame.bp.is_multiple_of(8) && frame.bp.wrapping_sub(frame.sp) <= LARGEST;
    if !is_sound {
        return None;
    }
    let bp = stack.word(frame.bp)?;
    let address = stack.word(frame.bp.wrapping_add(8))?;
    Some((address, FrameRegisters { sp: frame.bp.wrapping_add(16), bp }))
}

/// Whether two addresses can both be of made code.
pub fn is_near(one: u64, another: u64) -> bool {
    one.abs_diff(another) < NEAR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unwind::map::Engine;

    const MADE: u64 = 0x7e00_0000_0000;
    const KNOWN: u64 = 0x5500_0000_0000;

    fn map() -> Map {
        let text = core::iter::once(KNOWN..KNOWN + 0x1000).collect();
        Map::new(Engine::new(), text, 0..0, std::vec::Vec::new())
    }

    /// Puts a chain on a stack: for each frame, its size in words and the return address.
    fn steps(frames: &[(isize, u64)]) -> Option<usize> {
        let mut words = [0u64; 64];
        let start = words.as_ptr() as u64;
        let mut place = 2usize;
        for &(size, address) in frames {
            let above = place.checked_add_signed(size).unwrap();
            words[place] = start + 8 * above as u64;
            words[place + 1] = address;
            place = above;
        }
        let frame = FrameRegisters { sp: start, bp: start + 16 };
        let mut known = 0..0;
        let mut stack = Readable::new(&mut known, start);
        // The words are read as they are now.
        std::hint::black_box(&words);
        steps_to_known(&map(), &mut stack, MADE, frame)
    }

    #[test]
    fn a_chain_is_followed_to_known_code_only() {
        assert_eq!(steps(&[(2, KNOWN + 16)]), Some(1));
        assert_eq!(steps(&[(4, MADE + 0x100), (3, MADE + 0x200), (2, KNOWN + 16)]), Some(3));
        // It leaves made code for nowhere, ends, or turns back.
        assert_eq!(steps(&[(4, MADE + 0x100), (3, MADE + (2 << 30)), (2, KNOWN + 16)]), None);
        assert_eq!(steps(&[(4, MADE + 0x100), (3, MADE + 0x200)]), None);
        assert_eq!(steps(&[(-2, MADE + 0x100), (4, KNOWN + 16)]), None);
        assert_eq!(steps(&[]), None);
    }

    #[test]
    fn a_frame_pointer_is_a_place_above_and_not_far() {
        let words = [7u64, MADE];
        let sp = words.as_ptr() as u64;
        for bp in [0, sp - 8, sp + 4, sp + LARGEST + 8, u64::MAX - 7] {
            let mut known = 0..0;
            let mut stack = Readable::new(&mut known, sp);
            assert!(step(&mut stack, FrameRegisters { sp, bp }).is_none(), "{bp:x}");
        }
        let mut known = 0..0;
        let found = step(&mut Readable::new(&mut known, sp), FrameRegisters { sp, bp: sp });
        assert!(found.is_some_and(|(address, above)| (address, above.bp) == (MADE, 7)));
    }
}
