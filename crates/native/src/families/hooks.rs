//! The hooks, one for each slot. \[UNSAFE\]
//!
//! What a function promises about arguments, results and `errno` is its own affair: its block is the one
//! that the program gets, whether it is a sample or not.

use lifetrace_agent::sampler::{Hits, WORD, footprint, words};
use lifetrace_agent::tls;
use lifetrace_transport::patch::Shape;

use super::live::{self, Birth, Held};
use super::{Function, SLOTS, Slot};
use crate::interpose::words_of_usable;
use crate::region;

const fn slot(shape: Shape, index: usize) -> &'static Slot {
    &SLOTS[shape as usize][index]
}

/// The hooks of a shape, by slot.
macro_rules! by_slot {
    ($hook:ident: $($index:literal)*) => { [$($hook::<$index> as Function),*] };
}

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
pub(super) fn of(shape: Shape, nests: bool, index: usize) -> Option<Function> {
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
    };
    hooks.get(index).copied()
}

/// # Safety
/// The patched function's contract; the same holds for all functions here.
unsafe extern "C" fn allocate<const SLOT: usize>(
    size: usize,
    b: usize,
    c: usize,
    d: usize,
) -> usize {
    let next = slot(Shape::Allocate, SLOT).next();
    if tls::take(footprint(size)) {
        // SAFETY: the caller's contract.
        return born(size, || unsafe { next(size, b, c, d) });
    }
    // SAFETY: the caller's contract.
    unsafe { next(size, b, c, d) }
}

/// # Safety
/// As above.
unsafe extern "C" fn allocate_by_another<const SLOT: usize>(
    size: usize,
    b: usize,
    c: usize,
    d: usize,
) -> usize {
    let next = slot(Shape::Allocate, SLOT).next();
    // SAFETY: the caller's contract.
    counted(size, || unsafe { next(size, b, c, d) })
}

/// # Safety
/// As above.
unsafe extern "C" fn new<const SLOT: usize>(size: usize, b: usize, c: usize, d: usize) -> usize {
    let next = slot(Shape::New, SLOT).next();
    let before = tls::countdown();
    // SAFETY: the caller's contract. It may throw, and nothing is left to be done then.
    let block = unsafe { next(size, b, c, d) };
    if tls::countdown() == before && tls::take(footprint(size)) {
        return born_once(size, block);
    }
    block
}

/// # Safety
/// As above.
unsafe extern "C" fn allocate_array<const SLOT: usize>(
    count: usize,
    size: usize,
    c: usize,
    d: usize,
) -> usize {
    let next = slot(Shape::AllocateArray, SLOT).next();
    // SAFETY: the caller's contract.
    counted(count.saturating_mul(size), || unsafe { next(count, size, c, d) })
}

/// # Safety
/// As above.
unsafe extern "C" fn allocate_aligned<const SLOT: usize>(
    alignment: usize,
    size: usize,
    c: usize,
    d: usize,
) -> usize {
    let next = slot(Shape::AllocateAligned, SLOT).next();
    // SAFETY: the caller's contract.
    counted(size, || unsafe { next(alignment, size, c, d) })
}

/// # Safety
/// As above.
unsafe extern "C" fn posix_memalign<const SLOT: usize>(
    place: usize,
    alignment: usize,
    size: usize,
    d: usize,
) -> usize {
    let next = slot(Shape::PosixMemalign, SLOT).next();
    let mut error = 0;
    counted(size, || {
        // SAFETY: the caller's contract; C's int is the lower half. On success there is a block.
        unsafe {
            error = next(place, alignment, size, d);
            if error as u32 == 0 { *(place as *const usize) } else { 0 }
        }
    });
    error
}

/// # Safety
/// As above.
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
/// As above.
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
/// As above.
unsafe extern "C" fn free<const SLOT: usize>(block: usize, b: usize, c: usize, d: usize) -> usize {
    if live::may_hold(block) {
        live::freed(block);
    }
    // SAFETY: the caller's contract.
    unsafe { slot(Shape::Free, SLOT).next()(block, b, c, d) }
}

/// A fresh block for which the countdown ended.
#[cold]
#[inline(never)]
fn born(size: usize, next: impl FnOnce() -> usize) -> usize {
    let hits = live::draw(size);
    let block = next();
    if let Some(hits) = hits.filter(|_| block != 0) {
        live::announce(block, whole(size, hits));
    }
    block
}

/// A block for which the countdown ended when it was there, unless it was counted before that: where every
/// word is hit, the countdown is the same after each block.
#[cold]
#[inline(never)]
fn born_once(size: usize, block: usize) -> usize {
    let hits = live::draw(size);
    let is_counted = region::contains(block as *mut u8) || live::holds(block);
    if let Some(hits) = hits.filter(|_| block != 0 && !is_counted) {
        live::announce(block, whole(size, hits));
    }
    block
}

fn whole(size: usize, hits: Hits) -> Birth {
    Birth { first: 0, words: words(size), bytes: size as u64, hits }
}

/// A fresh block of a function that may be built on others.
#[inline]
fn counted(size: usize, next: impl FnOnce() -> usize) -> usize {
    let is_hit = size <= isize::MAX as usize && tls::take(footprint(size));
    if is_hit { born(size, || tls::aside(next)) } else { tls::aside(next) }
}

/// What a realloc adds is new. Where an allocator can't say how large a block was, all of it is.
#[inline(never)]
fn resized(slot: &Slot, block: usize, size: usize, next: impl FnOnce() -> usize) -> usize {
    if block == 0 || size > isize::MAX as usize {
        return counted(size, next);
    }
    let before = slot.usable_size(block).map(words_of_usable);
    let held = live::take_out(block);
    let new = tls::aside(next);
    if new == 0 && size != 0 {
        live::put_in(block, held);
        return new;
    }
    let kept = if before.is_some() { words(size) } else { 0 };
    let before = before.map_or(0, |usable| held.as_ref().map_or(usable, Held::words));
    live::put_in(new, held.and_then(|held| held.resized(new, kept, size)));
    let added = words(size).saturating_sub(before);
    if new != 0 && added > 0 && tls::take((added * WORD) as usize) {
        grown(new, before, added, size);
    }
    new
}

#[cold]
fn grown(block: usize, before: u64, added: u64, size: usize) {
    let bytes = if before == 0 { size as u64 } else { added * WORD };
    let hits: Option<Hits> = live::draw((added * WORD) as usize);
    if let Some(hits) = hits {
        live::announce(block, Birth { first: before, words: added, bytes, hits });
    }
}

const _: () = assert!(PLAIN.len() == Shape::Allocate.slots() && FREES.len() == Shape::Free.slots());
const _: () = assert!(GROWING.len() == Shape::Reallocate.slots());
const _: () = assert!(NEWS.len() == Shape::New.slots());
