//! The first bytes of a function of the program's, which become a jump to one of ours. \[UNSAFE\]
//!
//! Calls between functions of an executable are bound when it is linked, so they cannot be hooked by name.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use crate::code;

#[cfg(target_arch = "x86_64")]
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0]; // jmp [rip]; the address follows

#[cfg(target_arch = "aarch64")]
const JUMP: [u8; 8] = [0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6]; // ldr x16, .+8; br x16; the address follows

const BYTES: usize = JUMP.len() + size_of::<usize>();

/// A jump at the beginning of a function, and the bytes that were there before.
#[derive(Debug)]
pub struct Patch(UnsafeCell<[u8; BYTES]>);

// SAFETY: used by one thread at a time, as both functions ask for.
unsafe impl Sync for Patch {}

impl Patch {
    /// One that is not in place.
    pub const fn unset() -> Patch {
        Patch(UnsafeCell::new([0; BYTES]))
    }

    /// Puts a jump to `way` at the beginning of `function`; false if the kernel does not let the program's
    /// code be changed, which is then as it was.
    ///
    /// # Safety
    /// `function` is one, and longer than the jump; nobody runs it now, nor uses this patch.
    pub unsafe fn put(&self, function: *mut u8, way: *const ()) -> bool {
        let mut jump = [0; BYTES];
        jump[..JUMP.len()].copy_from_slice(&JUMP);
        jump[JUMP.len()..].copy_from_slice(&(way as usize).to_ne_bytes());
        // SAFETY: by contract.
        unsafe {
            *self.0.get() = function.cast::<[u8; BYTES]>().read();
            code::write(function, &jump)
        }
    }

    /// Puts back what was there.
    ///
    /// # Safety
    /// The patch is in place at `function`; nobody runs its first bytes now, nor uses this patch.
    pub unsafe fn take_back(&self, function: *mut u8) {
        // SAFETY: by contract; it has been writable.
        unsafe { code::write(function, &*self.0.get()) };
    }
}

/// Puts a jump to each of the `ways` at the beginning of each of the `functions` that are there; false if the
/// kernel does not let the program's code be changed, which is then as it was.
///
/// # Safety
/// As [`Patch::put`], of each.
pub unsafe fn put_all(
    patches: &[Patch],
    functions: &[Option<NonNull<u8>>],
    ways: &[*const ()],
) -> bool {
    for (done, ((patch, function), way)) in patches.iter().zip(functions).zip(ways).enumerate() {
        let Some(function) = function else { continue };
        // SAFETY: by contract.
        if !unsafe { patch.put(function.as_ptr(), *way) } {
            // SAFETY: those before it are in place.
            unsafe { take_back_all(&patches[..done], functions) };
            return false;
        }
    }
    true
}

/// Puts back what was there.
///
/// # Safety
/// As [`Patch::take_back`], of each.
pub unsafe fn take_back_all(patches: &[Patch], functions: &[Option<NonNull<u8>>]) {
    for (patch, function) in patches.iter().zip(functions) {
        if let Some(function) = function {
            // SAFETY: by contract.
            unsafe { patch.take_back(function.as_ptr()) };
        }
    }
}
