//! jemalloc's functions for programs that do not have it. \[UNSAFE\]
//!
//! Blocks are the next allocator's, so that a program may mix these functions with the malloc family,
//! as it may with jemalloc. Nothing is counted here.

use core::ffi::c_int;

use super::QUANTUM;
use super::{Wish, zero};
use crate::next::NEXT;

/// # Safety
/// jemalloc's contract; the same holds for all functions here.
pub(super) unsafe extern "C" fn mallocx(size: usize, flags: c_int) -> *mut u8 {
    let wish = Wish::of(flags);
    let size = size.max(1);
    // SAFETY: the caller's contract.
    unsafe {
        match (wish.alignment <= QUANTUM, wish.zero) {
            (true, false) => NEXT.malloc()(size),
            (true, true) => NEXT.calloc()(1, size),
            (false, _) => aligned(size, wish),
        }
    }
}

pub(super) unsafe extern "C" fn rallocx(block: *mut u8, size: usize, flags: c_int) -> *mut u8 {
    let wish = Wish::of(flags);
    let size = size.max(1);
    // SAFETY: the caller's contract.
    unsafe {
        let old = NEXT.malloc_usable_size()(block);
        if wish.alignment <= QUANTUM {
            let new = NEXT.realloc()(block, size);
            if wish.zero && !new.is_null() {
                zero(new, old, size);
            }
            return new;
        }
        let new = aligned(size, wish);
        if !new.is_null() {
            core::ptr::copy_nonoverlapping(block, new, old.min(size));
            NEXT.free()(block);
        }
        new
    }
}

/// A block cannot change its size where it is.
pub(super) unsafe extern "C" fn xallocx(
    block: *mut u8,
    _size: usize,
    _extra: usize,
    flags: c_int,
) -> usize {
    // SAFETY: the caller's contract.
    unsafe { sallocx(block, flags) }
}

pub(super) unsafe extern "C" fn sallocx(block: *const u8, _flags: c_int) -> usize {
    // SAFETY: the caller's contract.
    unsafe { NEXT.malloc_usable_size()(block.cast_mut()) }
}

pub(super) unsafe extern "C" fn dallocx(block: *mut u8, _flags: c_int) {
    // SAFETY: the caller's contract.
    unsafe { NEXT.free()(block) }
}

pub(super) unsafe extern "C" fn sdallocx(block: *mut u8, _size: usize, _flags: c_int) {
    // SAFETY: the caller's contract.
    unsafe { NEXT.free()(block) }
}

/// What is asked for is what may be counted on.
pub(super) unsafe extern "C" fn nallocx(size: usize, _flags: c_int) -> usize {
    size
}

/// # Safety
/// None in particular: an ordinary allocation.
unsafe fn aligned(size: usize, wish: Wish) -> *mut u8 {
    // SAFETY: an ordinary allocation, and its bytes.
    unsafe {
        let block = NEXT.memalign()(wish.alignment, size);
        if wish.zero && !block.is_null() {
            zero(block, 0, size);
        }
        block
    }
}
