//! Whether the program has started `Gc.Memprof` itself, in OCaml 4. \[UNSAFE\]
//!
//! The runtime keeps that in a variable that it does not export. But the first thing that `caml_memprof_stop` does is to ask
//! it, `caml_memprof_start` asks it as well, and both set it. So it is the variable that both of them refer to in this way;
//! where their code is not as expected there is no answer, and then nobody takes the program's sampler from it.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};

use lifetrace_agent::sys;

/// Of the functions' code, and of what lies behind it, so much is looked through, in bytes.
const STOP: usize = 512;
const START: usize = 640;

/// From reading the variable to asking whether it is 0.
const NEAR: usize = 8;

/// The variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client(NonNull<AtomicU32>);

impl Client {
    /// Finds it by the code of both functions.
    ///
    /// # Safety
    /// These are the functions of a runtime of OCaml 4, as they were linked.
    pub(crate) unsafe fn find(start: *const u8, stop: *const u8) -> Option<Client> {
        let is_there = |code: *const u8, bytes| sys::is_readable(code as u64 + bytes as u64);
        if !is_there(start, START) || !is_there(stop, STOP) {
            return None;
        }
        // SAFETY: by contract, and as has just been asked.
        let [start, stop] = unsafe {
            [
                Code { at: start as u64, bytes: core::slice::from_raw_parts(start, START) },
                Code { at: stop as u64, bytes: core::slice::from_raw_parts(stop, STOP) },
            ]
        };
        let found = find(&start, &stop)?;
        NonNull::new(found as *mut AtomicU32).map(Client).filter(|it| it.value() <= 1)
    }

    /// Whether Memprof is started.
    pub(crate) fn is_there(self) -> bool {
        self.value() != 0
    }

    fn value(self) -> u32 {
        // SAFETY: a variable of the runtime's, of the type `int`.
        unsafe { self.0.as_ref() }.load(Ordering::Relaxed)
    }
}

/// Instructions.
struct Code<'a> {
    at: u64,
    bytes: &'a [u8],
}

impl Code<'_> {
    /// What an instruction refers to whose distance to that stands at `index`, with `behind` more bytes after it.
    fn target(&self, index: usize, behind: usize) -> Option<u64> {
        let distance = self.bytes.get(index..)?.first_chunk()?;
        let next = self.at + (index + 4 + behind) as u64;
        Some(next.wrapping_add_signed(i32::from_le_bytes(*distance).into()))
    }

    /// What is read at `index` and then compared with 0.
    fn asked(&self, index: usize) -> Option<u64> {
        match *self.bytes.get(index..)? {
            // cmp dword ptr [rip + distance], 0
            [0x83, 0x3d, _, _, _, _, 0, ..] => self.target(index + 2, 1),
            // mov register, dword ptr [rip + distance] ... test register, register
            [0x8b, form, ..] if form & 0xc7 == 5 => {
                let register = form >> 3 & 7;
                let rest = self.bytes.get(index + 6..)?;
                let test = [0x85, 0xc0 | register << 3 | register];
                let is_asked = rest.windows(2).take(NEAR).any(|it| it == test);
                is_asked.then(|| self.target(index + 2, 0)).flatten()
            }
            _ => None,
        }
    }

    /// What is read at `index`, in one way or the other.
    fn read(&self, index: usize) -> Option<u64> {
        match *self.bytes.get(index..)? {
            [0x83, 0x3d, _, _, _, _, 0, ..] => self.target(index + 2, 1),
            [0x8b, form, ..] if form & 0xc7 == 5 => self.target(index + 2, 0),
            _ => None,
        }
    }

    /// What is set to this value at `index`.
    fn set(&self, index: usize, value: u8) -> Option<u64> {
        match *self.bytes.get(index..)? {
            [0xc7, 0x05, _, _, _, _, set, 0, 0, 0, ..] if set == value => self.target(index + 2, 4),
            _ => None,
        }
    }
}

/// The first variable that `stop` asks, if it sets it to 0 as well, and `start` reads it.
fn find(start: &Code<'_>, stop: &Code<'_>) -> Option<u64> {
    let asked = (0..stop.bytes.len()).find_map(|index| stop.asked(index))?;
    let is_cleared = (0..stop.bytes.len()).any(|index| stop.set(index, 0) == Some(asked));
    let is_read = (0..start.bytes.len()).any(|index| start.read(index) == Some(asked));
    (is_cleared && is_read).then_some(asked)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// As OCaml 4.13's, with the variable at 0x2000 and another one before it in `start`.
    fn code(at: u64, parts: &[(&[u8], u64, &[u8])]) -> (u64, Vec<u8>) {
        let mut bytes: Vec<u8> = Vec::new();
        for (before, target, after) in parts {
            bytes.extend_from_slice(before);
            let next = at + (bytes.len() + 4 + after.len()) as u64;
            bytes.extend_from_slice(&(target.wrapping_sub(next) as u32).to_le_bytes());
            bytes.extend_from_slice(after);
            bytes.extend_from_slice(&[0x90; 3]);
        }
        (at, bytes)
    }

    fn found(start: &(u64, Vec<u8>), stop: &(u64, Vec<u8>)) -> Option<u64> {
        let [start, stop] = [start, stop].map(|it| Code { at: it.0, bytes: &it.1 });
        find(&start, &stop)
    }

    const STARTED: u64 = 0x2000;

    #[test]
    fn the_variable_is_the_one_that_both_ask() {
        let asks = |address| (&[0x48, 0x83, 0xec, 8, 0x8b, 0x05][..], address, &[][..]);
        let test = (&[0x85, 0xc0, 0xe8][..], 0x1500, &[][..]);
        let clears = (&[0xc7, 0x05][..], STARTED, &[0, 0, 0, 0][..]);
        let reads = (&[0x8b, 0x15][..], STARTED, &[][..]);
        let start = code(0x1000, &[(&[0x48, 0x8b, 0x05], 0x3000, &[]), reads]);
        let stop = code(0x1800, &[asks(STARTED), test, clears]);
        assert_eq!(found(&start, &stop), Some(STARTED));
        // Other compilers compare at once.
        let compares = (&[0x83, 0x3d][..], STARTED, &[0][..]);
        let stop = code(0x1800, &[compares, clears]);
        assert_eq!(found(&start, &stop), Some(STARTED));
        assert_eq!(found(&code(0x1000, &[(&[0x8b, 0x15], 0x3000, &[])]), &stop), None);
        assert_eq!(found(&start, &code(0x1800, &[compares])), None);
        assert_eq!(found(&start, &code(0x1800, &[asks(STARTED), clears])), None);
    }
}
