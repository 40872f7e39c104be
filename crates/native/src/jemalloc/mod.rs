//! jemalloc's functions beside the malloc family. \[UNSAFE\]
//!
//! A program that brings jemalloc may hand any block to them, sampled ones too, so we must stand before
//! them. But then they are there for every program that asks, and programs do ask: by weak symbols
//! or by name they find out which allocator they have, and take another path. Three rules make that
//! harmless:
//!
//! - The functions by which programs tell jemalloc from others for certain, `mallctl` and its kin, are
//!   not ours: a program that asks for all of them (as folly and RocksDB do) finds none without
//!   jemalloc. Nor do we define anything of tcmalloc's.
//! - A program that asks for one function alone and finds it may use it: where there is no next
//!   definition, [`absent`] does what jemalloc's manual says by way of the malloc family.
//! - Each function goes on to the next definition of its own name, so an allocator that has some of
//!   them only (tcmalloc has `nallocx`) is what it was.
//!
//! What is asked for out of an arena of the program's own is left alone: such an arena may lie in
//! special memory, and be emptied without a word.

mod absent;

use core::ffi::c_int;

use lifetrace_agent::sampler::{WORD, footprint, words};
use lifetrace_agent::tls;

use crate::interpose::{Malloc, block_or, can_align, free, sampled_or, words_of_usable, zeroed_or};
use crate::next::table;
use crate::region::{self, Block};
use crate::sample::{self, Born};

type Query = unsafe extern "C" fn(*const u8, c_int) -> usize;

table! {
    static NEXT: Jemalloc;
    mallocx: unsafe extern "C" fn(usize, c_int) -> *mut u8 = absent::mallocx;
    rallocx: unsafe extern "C" fn(*mut u8, usize, c_int) -> *mut u8 = absent::rallocx;
    xallocx: unsafe extern "C" fn(*mut u8, usize, usize, c_int) -> usize = absent::xallocx;
    sallocx: Query = absent::sallocx;
    dallocx: unsafe extern "C" fn(*mut u8, c_int) = absent::dallocx;
    sdallocx: unsafe extern "C" fn(*mut u8, usize, c_int) = absent::sdallocx;
    nallocx: unsafe extern "C" fn(usize, c_int) -> usize = absent::nallocx;
}

/// What flags ask for.
#[derive(Clone, Copy, Debug)]
struct Wish {
    alignment: usize,
    zero: bool,
    /// Out of no arena in particular.
    any_arena: bool,
}

impl Wish {
    /// jemalloc.h: the alignment's logarithm in six bits, then MALLOCX_ZERO, then a cache and, from
    /// bit 20 on, an arena.
    fn of(flags: c_int) -> Wish {
        let flags = flags as u32;
        Wish { alignment: 1 << (flags & 63), zero: flags & 64 != 0, any_arena: flags >> 20 == 0 }
    }

    fn can_be_sampled(self) -> bool {
        self.any_arena && can_align(self.alignment)
    }
}

/// Looks the next definitions up.
pub(crate) fn resolve() {
    NEXT.look_up();
}

/// # Safety
/// jemalloc's contract; the same holds for all functions here.
pub unsafe extern "C" fn mallocx(size: usize, flags: c_int) -> *mut u8 {
    // SAFETY: the caller's contract.
    let next = || unsafe { NEXT.mallocx()(size, flags) };
    let wish = Wish::of(flags);
    if !wish.can_be_sampled() || !tls::take(footprint(size)) {
        return next();
    }
    if wish.zero {
        zeroed_or(size, wish.alignment, next)
    } else {
        sampled_or(size, wish.alignment, next)
    }
}

/// # Safety
/// As jemalloc's.
pub unsafe extern "C" fn rallocx(block: *mut u8, size: usize, flags: c_int) -> *mut u8 {
    let wish = Wish::of(flags);
    // SAFETY: the caller's contract, here and below.
    unsafe {
        if region::contains(block) {
            return rallocx_sampled(block, size, flags);
        }
        let usable = NEXT.sallocx()(block, flags);
        let added = words(size).saturating_sub(words_of_usable(usable));
        let next = || NEXT.rallocx()(block, size, flags);
        if added == 0 || !wish.can_be_sampled() || !tls::take((added * WORD) as usize) {
            return next();
        }
        let born = sample::grown(&Malloc, block, usable, added, size, wish.alignment);
        let is_sample = matches!(born, Born::Sample(_));
        let new = block_or(born, next);
        if is_sample && wish.zero {
            zero(new, usable, size);
        }
        new
    }
}

/// # Safety
/// As jemalloc's.
pub unsafe extern "C" fn xallocx(block: *mut u8, size: usize, extra: usize, flags: c_int) -> usize {
    // SAFETY: the caller's contract, here and below.
    unsafe {
        if region::contains(block) {
            return xallocx_sampled(block, size, extra, flags);
        }
        let usable = NEXT.sallocx()(block, flags);
        let new = NEXT.xallocx()(block, size, extra, flags);
        let added = words(new).saturating_sub(words(usable));
        if added == 0 || !Wish::of(flags).any_arena || !tls::take((added * WORD) as usize) {
            return new;
        }
        // What was added is hit. It cannot be a sample where it is: the block stays as it was, as it
        // may, and the program gets its memory in another way.
        let undo = || NEXT.xallocx()(block, usable, 0, flags) <= usable;
        if sample::hit_in_vain(&Malloc, added, undo) { usable } else { new }
    }
}

/// # Safety
/// As jemalloc's.
pub unsafe extern "C" fn sallocx(block: *const u8, flags: c_int) -> usize {
    // SAFETY: the caller's contract.
    unsafe {
        match live(block.cast_mut()) {
            Some(block) => block.size(),
            None => NEXT.sallocx()(block, flags),
        }
    }
}

/// # Safety
/// As jemalloc's.
pub unsafe extern "C" fn dallocx(block: *mut u8, flags: c_int) {
    // SAFETY: the caller's contract.
    unsafe { if region::contains(block) { free(block) } else { NEXT.dallocx()(block, flags) } }
}

/// # Safety
/// As jemalloc's.
pub unsafe extern "C" fn sdallocx(block: *mut u8, size: usize, flags: c_int) {
    // SAFETY: the caller's contract.
    unsafe {
        if region::contains(block) { free(block) } else { NEXT.sdallocx()(block, size, flags) }
    }
}

/// # Safety
/// As jemalloc's.
pub unsafe extern "C" fn nallocx(size: usize, flags: c_int) -> usize {
    // SAFETY: the caller's contract.
    unsafe { NEXT.nallocx()(size, flags) }
}

#[cold]
unsafe fn rallocx_sampled(address: *mut u8, size: usize, flags: c_int) -> *mut u8 {
    let wish = Wish::of(flags);
    // SAFETY: the caller's contract. A block that is not live is the next allocator's to judge.
    unsafe {
        let Some(block) = live(address) else { return NEXT.rallocx()(address, size, flags) };
        if size > isize::MAX as usize || !can_align(wish.alignment) {
            return core::ptr::null_mut();
        }
        let old = block.size();
        let new = sample::resized(&Malloc, block, size.max(1), wish.alignment);
        if wish.zero && !new.is_null() {
            zero(new, old, size);
        }
        new
    }
}

#[cold]
unsafe fn xallocx_sampled(address: *mut u8, size: usize, extra: usize, flags: c_int) -> usize {
    // SAFETY: the caller's contract, here and below.
    let Some(block) = (unsafe { live(address) }) else {
        // SAFETY: as above.
        return unsafe { NEXT.xallocx()(address, size, extra, flags) };
    };
    let old = block.size();
    let most = size.saturating_add(extra).min(isize::MAX as usize);
    if !sample::resized_in_place(&Malloc, block, most) {
        sample::resized_in_place(&Malloc, block, size);
    }
    if Wish::of(flags).zero {
        // SAFETY: the block is the caller's and has the size that it says.
        unsafe { zero(address, old, block.size()) };
    }
    block.size()
}

/// # Safety
/// As for [`Block::at`], if the address is in the region.
unsafe fn live(address: *mut u8) -> Option<Block> {
    // SAFETY: by contract.
    if region::contains(address) { unsafe { Block::at(address) } } else { None }
}

/// Makes the bytes from `from` to `to` zero, if there are any.
///
/// # Safety
/// The block is the caller's and has `to` bytes.
unsafe fn zero(block: *mut u8, from: usize, to: usize) {
    if from < to {
        // SAFETY: by contract.
        unsafe { block.add(from).write_bytes(0, to - from) };
    }
}
