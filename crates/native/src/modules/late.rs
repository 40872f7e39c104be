//! Whether a module that may go is still there, and still the same. \[UNSAFE\]
//!
//! Nobody says that a module has been unloaded, and another one may be mapped where it was. It is known by what
//! glibc says of that place, and by what stands there: the build id, and the beginning of the table of functions.

use core::mem::MaybeUninit;
use core::ops::Range;

use alloc::vec::Vec;
use lifetrace_agent::loader::object::{self, Object};
use lifetrace_agent::sys;

/// How much of a part is compared.
pub const COMPARED: usize = 256;

/// A module that was loaded after the start.
#[derive(Clone, Debug)]
pub struct Late {
    /// Its code.
    pub text: Range<u64>,
    object: Option<Object>,
    marks: [Mark; 2],
}

/// What stands where.
#[derive(Clone, Debug)]
pub struct Mark {
    address: u64,
    bytes: Vec<u8>,
}

impl Late {
    /// A module with code at `text`, known by these parts of its memory.
    pub fn new(text: Range<u64>, object: Option<Object>, marks: [Mark; 2]) -> Late {
        Late { text, object, marks }
    }

    /// Whether it is still there, asked by a thread that is running in what is there.
    pub fn is_around_us(&self) -> bool {
        match self.object {
            // What glibc knows at a place that this thread is running in does not go.
            Some(_) => self.is_known() && self.marks.iter().all(Mark::is_same_around_us),
            None => self.is_there(),
        }
    }

    /// Whether it is still there.
    pub fn is_there(&self) -> bool {
        self.is_known() && self.marks.iter().all(Mark::is_there)
    }

    fn is_known(&self) -> bool {
        self.object.is_none_or(|object| object::find(self.text.start) == Some(object))
    }
}

impl Mark {
    /// Of these bytes at `address`, of which no more are compared than are needed.
    pub fn new(address: u64, mut bytes: Vec<u8>) -> Mark {
        bytes.truncate(COMPARED);
        Mark { address, bytes }
    }

    /// Walks ask, so nothing is allocated.
    fn is_there(&self) -> bool {
        let mut there = [MaybeUninit::<u8>::uninit(); COMPARED];
        let there = &mut there[..self.bytes.len()];
        // SAFETY: filled, if it is looked at.
        sys::copy(self.address, there)
            && there.iter().zip(&self.bytes).all(|(it, byte)| unsafe { it.assume_init() } == *byte)
    }

    fn is_same_around_us(&self) -> bool {
        // SAFETY: of a module that this thread is running in; nobody writes there.
        let there =
            unsafe { core::slice::from_raw_parts(self.address as *const u8, self.bytes.len()) };
        there == self.bytes
    }
}

/// So many bytes at `address`, where a module may go at this moment; `None` if they are not there. They lie on two pages at
/// most.
pub fn contents(address: u64, bytes: usize) -> Option<Vec<u8>> {
    let mut contents = Vec::with_capacity(bytes);
    let room = &mut contents.spare_capacity_mut()[..bytes];
    if !sys::copy(address, room) {
        return None;
    }
    // SAFETY: filled.
    unsafe { contents.set_len(bytes) };
    Some(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_module_at_the_same_place_is_another() {
        let memory = sys::map(8192).unwrap();
        // Other tests may map something there later, which is zero.
        // SAFETY: fresh memory of that length.
        unsafe { memory.as_ptr().write_bytes(7, 8192) };
        let start = memory.as_ptr() as u64;
        let part = |from: u64, bytes: usize| {
            Mark::new(start + from, contents(start + from, bytes).unwrap())
        };
        let late = Late::new(start..start + 8192, None, [part(64, 20), part(4096, 3000)]);
        assert!(late.is_there() && late.is_around_us());
        let write = |at: usize, byte: u8| {
            // SAFETY: inside the mapping, to which nobody refers.
            unsafe { memory.as_ptr().add(at).write_volatile(byte) };
            late.is_there()
        };
        assert!(write(63, 1) && write(84, 1) && write(4096 + COMPARED, 1));
        assert!(!write(83, 1) && write(83, 7) && !write(4096 + COMPARED - 1, 1));
        // SAFETY: nobody refers to it.
        unsafe { sys::unmap(memory, 8192) };
        assert!(!late.is_there() && !late.is_around_us());
    }
}
