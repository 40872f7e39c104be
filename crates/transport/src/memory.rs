//! The bytes of a ring, and its two positions: as they are, or as a model checker sees them. \[UNSAFE\]
//!
//! `tests/loom.rs` (`cargo xtask loom`) tries every order in which the ring's two sides can run. The
//! checker must see each access: so there, positions are its atomics, and the bytes lie in cells of
//! its own, of 8 bytes each, that notice when two sides use one at the same time.

#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU64, Ordering};

/// What a model checker has in place of 8 bytes.
#[cfg(loom)]
pub type Cell = loom::cell::UnsafeCell<[u8; 8]>;

/// Copies `count` bytes without a call: a sample would have to fetch the C library's code, and for each call
/// processors forget to where one of the program's own functions returns.
///
/// # Safety
/// `from` is readable and `to` writable for `count` bytes, and they do not overlap.
#[inline(always)]
pub unsafe fn copy(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: by this function's contract; the ABI says that the direction is forwards.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "rep movsb",
            inout("rdi") to => _,
            inout("rsi") from => _,
            inout("rcx") count => _,
            options(nostack, preserves_flags),
        )
    };
    // SAFETY: by this function's contract.
    #[cfg(not(target_arch = "x86_64"))]
    unsafe {
        core::ptr::copy_nonoverlapping(from, to, count)
    };
}

/// Copies `count` bytes to a ring's `data`, beginning with byte `at` of it: best if the compiler knows how many.
///
/// # Safety
/// `from` is readable for `count` bytes, and `data` the caller's to write from `at` on for so many.
#[cfg(not(loom))]
#[inline]
pub unsafe fn copy_in(data: *mut u8, at: usize, from: *const u8, count: usize) {
    // SAFETY: by this function's contract.
    unsafe { core::ptr::copy_nonoverlapping(from, data.add(at), count) }
}

/// Copies `count` bytes to a ring's `data`, beginning with byte `at` of it: best if the compiler does not know how
/// many.
///
/// # Safety
/// As [`copy_in`].
#[inline]
pub unsafe fn copy_any_in(data: *mut u8, at: usize, from: *const u8, count: usize) {
    // SAFETY: by this function's contract.
    #[cfg(not(loom))]
    unsafe {
        copy(data.add(at), from, count)
    };
    // SAFETY: as above.
    #[cfg(loom)]
    unsafe {
        copy_in(data, at, from, count)
    };
}

/// Copies `count` bytes from a ring's `data`, beginning with byte `at` of it.
///
/// # Safety
/// `to` is writable for `count` bytes, and `data` the caller's to read from `at` on for so many.
#[cfg(not(loom))]
pub unsafe fn copy_out(data: *const u8, at: usize, to: *mut u8, count: usize) {
    // SAFETY: by this function's contract.
    unsafe { core::ptr::copy_nonoverlapping(data.add(at), to, count) }
}

/// As without the checker; `data` points to [`Cell`]s.
///
/// # Safety
/// As without the checker.
#[cfg(loom)]
pub unsafe fn copy_in(data: *mut u8, at: usize, from: *const u8, count: usize) {
    for offset in 0..count {
        // SAFETY: by this function's contract; the checker tells if somebody else is there.
        unsafe {
            let cell = &*data.cast::<Cell>().add((at + offset) / 8);
            cell.with_mut(|bytes| (*bytes)[(at + offset) % 8] = *from.add(offset));
        }
    }
}

/// As without the checker; `data` points to [`Cell`]s.
///
/// # Safety
/// As without the checker.
#[cfg(loom)]
pub unsafe fn copy_out(data: *const u8, at: usize, to: *mut u8, count: usize) {
    for offset in 0..count {
        // SAFETY: by this function's contract; the checker tells if somebody writes there.
        unsafe {
            let cell = &*data.cast::<Cell>().add((at + offset) / 8);
            *to.add(offset) = cell.with(|bytes| (*bytes)[(at + offset) % 8]);
        }
    }
}
