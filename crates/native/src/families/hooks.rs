//! The hooks, one for each slot. \[UNSAFE\]
//!
//! What a function promises about arguments, results and `errno` is its own affair: its block is the one
//! that the program gets, whether it is a sample or not.

use lifetrace_agent::sampler::footprint;
use lifetrace_agent::tls;
use lifetrace_transport::patch::Shape;

use super::{Function, SLOTS, Slot};
use crate::interpose::Malloc;
use crate::live::{self, filter};
use crate::{blocks, mappings, sample, sandbox};

const fn slot(shape: Shape, index: usize) -> &'static Slot {
    &SLOTS[shape as usize][index]
}

/// The hooks of a shape, by slot.
macro_rules! by_slot {
    ($hook:ident: $($index:literal)*) => { [$($hook::<$index> as $crate::families::Function),*] };
}

pub(crate) use by_slot;

macro_rules! first_eight {
    ($hook:ident) => { by_slot!($hook: 0 1 2 3 4 5 6 7) };
}

macro_rules! all {
    ($hook:ident) => {
        by_slot!($hook: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
    };
}

static PLAIN: [Function; 32] = all!(allocate);
static OUTER: [Function; 32] = all!(allocate_by_another);
static FREES: [Function; 32] = all!(free);
static NEWS: [Function; 16] = by_slot!(new: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
static ARRAYS: [Function; 8] = first_eight!(allocate_array);
static ALIGNED: [Function; 8] = first_eight!(allocate_aligned);
static POSIX: [Function; 8] = first_eight!(posix_memalign);
static GROWING: [Function; 8] = first_eight!(reallocate);
static GROWING_ARRAYS: [Function; 8] = first_eight!(reallocate_array);

/// The hook for a slot; `None` if there is none.
pub(super) fn of(shape: Shape, nests: bool, index: usize) -> Option<*const ()> {
    let hooks: &[Function] = match shape {
        Shape::Allocate if nests => &OUTER,
        Shape::Allocate => &PLAIN,
        Shape::AllocateArray => &ARRAYS,
        Shape::AllocateAligned => &ALIGNED,
        Shape::PosixMemalign => &POSIX,
        Shape::Reallocate => &GROWING,
        Shape::ReallocateArray => &GROWING_ARRAYS,
        Shape::Free => &FREES,
        Shape::New => &NEWS,
        // These go on by pointers of their own.
        Shape::Prctl => return (index == 0).then_some(sandbox::patched as *const ()),
        shape => return mappings::patched::hook_of(shape).filter(|_| index == 0),
    };
    hooks.get(index).map(|&hook| hook as *const ())
}

/// # Safety
/// The patched function's contract; the same holds for all functions here.
unsafe extern "C" fn allocate<const SLOT: usize>(
    size: usize,
    b: usize,
    c: usize,
    d: usize,
) -> usize {
    let slot = slot(Shape::Allocate, SLOT);
    if tls::take(footprint(size)) {
        // SAFETY: the caller's contract.
        return born(slot, size, || unsafe { slot.next()(size, b, c, d) });
    }
    // SAFETY: the caller's contract.
    unsafe { slot.next()(size, b, c, d) }
}

/// # Safety
/// The patched function's contract.
unsafe extern "C" fn allocate_by_another<const SLOT: usize>(
    size: usize,
    b: usize,
    c: usize,
    d: usize,
) -> usize {
    let slot = slot(Shape::Allocate, SLOT);
    // SAFETY: the caller's contract.
    counted(slot, size, || unsafe { slot.next()(size, b, c, d) })
}

/// # Safety
/// The patched function's contract.
unsafe extern "C" fn new<const SLOT: usize>(size: usize, b: usize, c: usize, d: usize) -> usize {
    let slot = slot(Shape::New, SLOT);
    let before = tls::countdown();
    // SAFETY: the caller's contract. It may throw, and nothing is left to be done then.
    let block = unsafe { slot.next()(size, b, c, d) };
    if tls::countdown() == before && tls::take(footprint(size)) {
        return born_once(slot, size, block);
    }
    block
}

/// # Safety
/// The patched function's contract.
unsafe extern "C" fn allocate_array<const SLOT: usize>(
    count: usize,
    size: usize,
    c: usize,
    d: usize,
) -> usize {
    let slot = slot(Shape::AllocateArray, SLOT);
    // SAFETY: the caller's contract.
    counted(slot, count.saturating_mul(size), || unsafe { slot.next()(count, size, c, d) })
}

/// # Safety
/// The patched function's contract.
unsafe extern "C" fn allocate_aligned<const SLOT: usize>(
    alignment: usize,
    size: usize,
    c: usize,
    d: usize,
) -> usize {
    let slot = slot(Shape::AllocateAligned, SLOT);
    // SAFETY: the caller's contract.
    counted(slot, size, || unsafe { slot.next()(alignment, size, c, d) })
}

/// # Safety
/// The patched function's contract.
unsafe extern "C" fn posix_memalign<const SLOT: usize>(
    place: usize,
    alignment: usize,
    size: usize,
    d: usize,
) -> usize {
    let slot = slot(Shape::PosixMemalign, SLOT);
    let mut error = 0;
    counted(slot, size, || {
        // SAFETY: the caller's contract; C's int is the lower half. On success there is a block.
        unsafe {
            error = slot.next()(place, alignment, size, d);
            if error as u32 == 0 { *(place as *const usize) } else { 0 }
        }
    });
    error
}

/// # Safety
/// The patched function's contract.
unsafe extern "C" fn reallocate<const SLOT: usize>(
    block: usize,
    size: usize,
    c: usize,
    d: usize,
) -> usize {
    let slot = slot(Shape::Reallocate, SLOT);
    // SAFETY: the caller's contract.
    resized(slot, block, size, || unsafe { slot.next()(block, size, c, d) })
}

/// # Safety
/// The patched function's contract.
unsafe extern "C" fn reallocate_array<const SLOT: usize>(
    block: usize,
    count: usize,
    size: usize,
    d: usize,
) -> usize {
    let slot = slot(Shape::ReallocateArray, SLOT);
    let bytes = count.saturating_mul(size);
    // SAFETY: the caller's contract.
    resized(slot, block, bytes, || unsafe { slot.next()(block, count, size, d) })
}

/// # Safety
/// The patched function's contract.
unsafe extern "C" fn free<const SLOT: usize>(block: usize, b: usize, c: usize, d: usize) -> usize {
    let slot = slot(Shape::Free, SLOT);
    if filter::may_be_sampled(block as *mut u8) {
        blocks::freed(slot, block as *mut u8);
    }
    // SAFETY: the caller's contract.
    unsafe { slot.next()(block, b, c, d) }
}

/// A fresh block for which the countdown ended.
fn born(slot: &Slot, size: usize, next: impl FnOnce() -> usize) -> usize {
    blocks::born(slot, size, || next() as *mut u8) as usize
}

/// A block for which the countdown ended when it was there, unless it was counted before that: where every
/// word is hit, the countdown is the same after each block.
#[cold]
#[inline(never)]
fn born_once(slot: &Slot, size: usize, block: usize) -> usize {
    if live::holds(block) {
        let _ = sample::draw(&Malloc, size);
        return block;
    }
    born(slot, size, || block)
}

/// A fresh block of a function that may be built on others.
#[inline]
fn counted(slot: &Slot, size: usize, next: impl FnOnce() -> usize) -> usize {
    let is_hit = size <= isize::MAX as usize && tls::take(footprint(size));
    if is_hit { born(slot, size, || tls::aside(next)) } else { tls::aside(next) }
}

#[inline(never)]
fn resized(slot: &Slot, block: usize, size: usize, next: impl FnOnce() -> usize) -> usize {
    if block == 0 || size > isize::MAX as usize {
        return counted(slot, size, next);
    }
    blocks::resized(slot, block as *mut u8, size, || tls::aside(next) as *mut u8) as usize
}

const _: () = assert!(PLAIN.len() == Shape::Allocate.slots() && FREES.len() == Shape::Free.slots());
const _: () = assert!(GROWING.len() == Shape::Reallocate.slots());
const _: () = assert!(NEWS.len() == Shape::New.slots());
