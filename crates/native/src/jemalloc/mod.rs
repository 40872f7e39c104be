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
mod next;

use core::ffi::c_int;

use lifetrace_agent::sampler::{WORD, footprint, words};
use lifetrace_agent::tls;

use crate::blocks::{self, Allocator};
use crate::interpose::{Malloc, NextAllocator, freed, sampled};
use crate::live::filter;
use crate::sample;
use next::NEXT;
pub(crate) use next::{replace, resolve};

/// The alignment of all blocks, in bytes.
const QUANTUM: usize = 16;

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
}

/// # Safety
/// jemalloc's contract; the same holds for all functions here.
pub unsafe extern "C" fn mallocx(size: usize, flags: c_int) -> *mut u8 {
    // SAFETY: the caller's contract.
    let next = || unsafe { NEXT.mallocx()(size, flags) };
    if Wish::of(flags).any_arena && tls::take(footprint(size)) {
        sampled(size, next)
    } else {
        next()
    }
}

/// # Safety
/// As jemalloc's.
pub unsafe extern "C" fn rallocx(block: *mut u8, size: usize, flags: c_int) -> *mut u8 {
    // SAFETY: the caller's contract, here and below.
    unsafe {
        let next = || NEXT.rallocx()(block, size, flags);
        if Wish::of(flags).any_arena {
            return blocks::resized(&NextAllocator, block, size, next);
        }
        if filter::may_be_sampled(block) {
            freed(block);
        }
        next()
    }
}

/// # Safety
/// As jemalloc's.
pub unsafe extern "C" fn xallocx(block: *mut u8, size: usize, extra: usize, flags: c_int) -> usize {
    // SAFETY: the caller's contract, here and below.
    unsafe {
        let next = || NEXT.xallocx()(block, size, extra, flags);
        if filter::may_be_sampled(block)
            && let Some(sample) = sample::lift(&Malloc, block, || NextAllocator.usable_size(block))
        {
            let new = next();
            // Smaller than asked for, it has stayed as it was; more than asked for is the allocator's rounding.
            let asked = new.clamp(size, size.saturating_add(extra));
            let size = if new < size { sample.size } else { asked };
            sample::resized(&Malloc, sample, block, size, NextAllocator.usable_size(block));
            return new;
        }
        let old = NEXT.sallocx()(block, flags);
        let new = next();
        let added = words(new).saturating_sub(words(old));
        if added != 0 && Wish::of(flags).any_arena && tls::take((added * WORD) as usize) {
            grown_in_place(block, added, new);
        }
        new
    }
}

/// # Safety
/// As jemalloc's.
pub unsafe extern "C" fn sallocx(block: *const u8, flags: c_int) -> usize {
    // SAFETY: the caller's contract.
    unsafe { NEXT.sallocx()(block, flags) }
}

/// # Safety
/// As jemalloc's.
pub unsafe extern "C" fn dallocx(block: *mut u8, flags: c_int) {
    // SAFETY: the caller's contract.
    unsafe {
        if filter::may_be_sampled(block) {
            freed(block);
        }
        NEXT.dallocx()(block, flags)
    }
}

/// # Safety
/// As jemalloc's.
pub unsafe extern "C" fn sdallocx(block: *mut u8, size: usize, flags: c_int) {
    // SAFETY: the caller's contract.
    unsafe {
        if filter::may_be_sampled(block) {
            freed(block);
        }
        NEXT.sdallocx()(block, size, flags)
    }
}

/// # Safety
/// As jemalloc's.
pub unsafe extern "C" fn nallocx(size: usize, flags: c_int) -> usize {
    // SAFETY: the caller's contract.
    unsafe { NEXT.nallocx()(size, flags) }
}

/// The countdown has ended for words that were added to a block, which is no sample, where it is.
#[cold]
unsafe fn grown_in_place(block: *mut u8, added: u64, size: usize) {
    if let Some(drawn) = sample::draw(&Malloc, (added * WORD) as usize) {
        let mark = NextAllocator.usable_size(block);
        sample::grown(&Malloc, drawn, block, added, size, mark);
    }
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
