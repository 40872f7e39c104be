//! A function that goes on to be called while its first bytes are a jump to ours: these are moved elsewhere. \[UNSAFE\]
//!
//! Compilers begin functions by saving registers and making room on the stack, which is the same wherever it stands. Only
//! such instructions are moved; a function that begins otherwise is left alone.

use core::ptr::NonNull;

use lifetrace_agent::sys;

/// What [`yielding`](crate::yielding) writes over, in bytes.
const TAKEN: usize = 14;

/// An instruction more may be moved, and a jump is behind.
const ROOM: usize = 48;

/// `jmp [rip]`; the address follows.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];

/// The function as it is now, with its beginning elsewhere; `None` if that cannot be moved, or there is no memory for it.
///
/// # Safety
/// It is a function of the program's, which stays.
pub(crate) unsafe fn beginning_of(function: *const u8) -> Option<NonNull<u8>> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    // SAFETY: by contract; none ends a page before its first instructions are over.
    let code = unsafe { core::slice::from_raw_parts(function, ROOM / 2) };
    let bytes = movable(code)?;
    let place = sys::map(ROOM)?;
    // SAFETY: fresh memory, large enough, which stays.
    unsafe {
        let room = core::slice::from_raw_parts_mut(place.as_ptr(), ROOM);
        let (moved, rest) = room.split_at_mut(bytes);
        moved.copy_from_slice(&code[..bytes]);
        rest[..JUMP.len()].copy_from_slice(&JUMP);
        let goes_on = function as usize + bytes;
        rest[JUMP.len()..][..8].copy_from_slice(&goes_on.to_ne_bytes());
        let is_code = sys::protect(place, ROOM, libc::PROT_READ | libc::PROT_EXEC);
        is_code.then_some(place)
    }
}

/// How many bytes of whole instructions are to be moved, if all of them can be.
fn movable(code: &[u8]) -> Option<usize> {
    let mut bytes = 0;
    while bytes < TAKEN {
        bytes += length(code.get(bytes..)?)?;
    }
    Some(bytes)
}

/// The length of an instruction that does the same wherever it stands; `None` of any other.
fn length(code: &[u8]) -> Option<usize> {
    /// Of these bits, what is moved between is two registers.
    const REGISTERS: u8 = 0xc0;
    match *code {
        // endbr64
        [0xf3, 0x0f, 0x1e, 0xfa, ..] => Some(4),
        // push
        [0x50..=0x57, ..] => Some(1),
        [0x41, 0x50..=0x57, ..] => Some(2),
        // sub rsp, number
        [0x48, 0x83, 0xec, ..] => Some(4),
        [0x48, 0x81, 0xec, ..] => Some(7),
        // mov register, register
        [0x48 | 0x49 | 0x4c | 0x4d, 0x89 | 0x8b, form, ..] if form & REGISTERS == REGISTERS => {
            Some(3)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As compilers begin `caml_memprof_start`.
    const SAVES: [u8; 10] = [0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54, 0x55, 0x53];

    #[test]
    fn what_saves_registers_is_moved() {
        let with = |before: &[u8], after: &[u8]| {
            let code: std::vec::Vec<u8> = [before, &SAVES, after, &[0x90; 16]].concat();
            movable(&code)
        };
        assert_eq!(with(&[0xf3, 0x0f, 0x1e, 0xfa], &[]), Some(14));
        assert_eq!(with(&[], &[0x48, 0x81, 0xec, 0xc8, 0, 0, 0]), Some(17));
        assert_eq!(with(&[0x55, 0x48, 0x89, 0xe5], &[]), Some(14));
        assert_eq!(with(&[], &[0x48, 0x83, 0xec, 0x18]), Some(14));
        // lea rax, [rip + 8]; a jump; a call; the end.
        for other in [&[0x48, 0x8d, 5, 8, 0, 0, 0][..], &[0xeb, 2], &[0xe8, 0, 0, 0, 0], &[0xc3]] {
            assert_eq!(with(other, &[]), None, "{other:x?}");
        }
        assert_eq!(movable(&SAVES), None);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_rest_is_where_it_was() {
        // mov rax, rdi, five times, and the end.
        let code: std::vec::Vec<u8> = [[0x48, 0x89, 0xf8]; 5].concat();
        let place = sys::map(ROOM).unwrap();
        // SAFETY: fresh memory; the code is a function of that type.
        let answer = unsafe {
            place.as_ptr().copy_from(code.as_ptr(), code.len());
            place.as_ptr().add(code.len()).write(0xc3);
            assert!(sys::protect(place, ROOM, libc::PROT_READ | libc::PROT_EXEC));
            let moved = beginning_of(place.as_ptr()).unwrap();
            assert_ne!(moved, place);
            core::mem::transmute::<NonNull<u8>, extern "C" fn(u64) -> u64>(moved)(42)
        };
        assert_eq!(answer, 42);
    }
}
