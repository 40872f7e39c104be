//! The malloc family. \[UNSAFE\]
//!
//! Each function is three or four instructions in front of a jump to the next allocator's. The
//! preload library exports them under their C names. What C promises about arguments, results and
//! `errno` is the next allocator's affair wherever a block is not a sample; where it is one, the
//! result is what glibc's would be.

use core::ffi::c_int;
use core::ptr::null_mut;

use lifetrace_agent::announcer::Announcer;
use lifetrace_agent::phase::Start;
use lifetrace_agent::sampler::{WORD, footprint, words};
use lifetrace_agent::tls;
use lifetrace_agent::tracker::Tracker;
use lifetrace_transport::message::SampleId;

use crate::classes::QUANTUM;
use crate::next::NEXT;
use crate::region::{self, Block};
use crate::sample::{self, Born, Ear, Host};
use crate::start;

const PAGE: usize = 4096;

/// Alignments above this are left to the next allocator, and not sampled.
const LARGEST_ALIGNMENT: usize = 1 << 24;

/// The malloc family as the host of samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Malloc;

impl Ear for Malloc {
    fn start(&self, start: Start) {
        start::start(start);
    }

    fn tracker(&self) -> impl Tracker<Metadata = SampleId> {
        Announcer
    }
}

impl Host for Malloc {
    fn ear(&self) -> &impl Ear {
        self
    }

    fn allocate(&self, size: usize, alignment: usize) -> *mut u8 {
        // SAFETY: an ordinary allocation.
        unsafe {
            match alignment {
                ..=QUANTUM => NEXT.malloc()(size),
                _ => NEXT.memalign()(alignment, size),
            }
        }
    }

    /// glibc learns from the free of a mapped block that blocks of its size are short-lived, and takes
    /// the next ones from its heap, where they leave holes; from one that has shrunk to a page it learns
    /// nothing.
    unsafe fn give_up(&self, old: *mut u8, old_bytes: usize) {
        /// glibc maps no smaller block until it has learned.
        const MAPPED: usize = 128 * 1024;
        // SAFETY: by contract; a realloc that fails leaves the block as it is.
        unsafe {
            let rest = if old_bytes < MAPPED { old } else { NEXT.realloc()(old, 1) };
            NEXT.free()(if rest.is_null() { old } else { rest });
        }
    }
}

/// # Safety
/// C's contract; the same holds for all functions here.
#[inline(always)]
pub unsafe extern "C" fn malloc(size: usize) -> *mut u8 {
    if tls::take(footprint(size)) {
        return sampled_or(size, 1, || {
            // SAFETY: the caller's contract.
            unsafe { NEXT.malloc()(size) }
        });
    }
    // SAFETY: the caller's contract.
    unsafe { NEXT.malloc()(size) }
}

/// # Safety
/// As C's.
#[inline(always)]
pub unsafe extern "C" fn free(block: *mut u8) {
    // SAFETY: the caller's contract.
    unsafe {
        if region::contains(block) {
            return free_sampled(block);
        }
        NEXT.free()(block)
    }
}

/// # Safety
/// As C's free, for an address in the region. What is no block of ours is the next allocator's.
#[cold]
#[inline(never)]
unsafe extern "C" fn free_sampled(block: *mut u8) {
    // SAFETY: the caller's contract.
    unsafe {
        if !sample::freed(&Malloc, block) {
            NEXT.free()(block);
        }
    }
}

/// # Safety
/// As C's.
#[inline(always)]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut u8 {
    // SAFETY: the caller's contract.
    let next = || unsafe { NEXT.calloc()(count, size) };
    match count.checked_mul(size) {
        Some(bytes) if tls::take(footprint(bytes)) => zeroed_or(bytes, 1, next),
        _ => next(),
    }
}

/// # Safety
/// As C's.
pub unsafe extern "C" fn realloc(block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the caller's contract, here and below.
    unsafe {
        if block.is_null() {
            return malloc(size);
        }
        if region::contains(block) {
            return realloc_sampled(block, size);
        }
        let usable = NEXT.malloc_usable_size()(block);
        let added = words(size).saturating_sub(words_of_usable(usable));
        if size != 0 && added != 0 && tls::take((added * WORD) as usize) {
            return block_or(sample::grown(&Malloc, block, usable, added, size, 1), || {
                NEXT.realloc()(block, size)
            });
        }
        NEXT.realloc()(block, size)
    }
}

/// # Safety
/// As C's.
pub unsafe extern "C" fn reallocarray(block: *mut u8, count: usize, size: usize) -> *mut u8 {
    match count.checked_mul(size) {
        // SAFETY: the caller's contract.
        Some(bytes) => unsafe { realloc(block, bytes) },
        None => {
            lifetrace_agent::sys::set_errno(libc::ENOMEM);
            null_mut()
        }
    }
}

/// # Safety
/// As C's.
pub unsafe extern "C" fn posix_memalign(
    place: *mut *mut u8,
    alignment: usize,
    size: usize,
) -> c_int {
    let valid = can_align(alignment) && alignment.is_multiple_of(size_of::<usize>());
    let mut result = 0;
    // SAFETY: the caller's contract.
    let mut next = || unsafe {
        result = NEXT.posix_memalign()(place, alignment, size);
        if result == 0 { *place } else { null_mut() }
    };
    if valid && tls::take(footprint(size)) {
        let block = sampled_or(size, alignment, next);
        if !block.is_null() {
            // SAFETY: the caller's contract.
            unsafe { *place = block };
        }
    } else {
        next();
    }
    result
}

/// # Safety
/// As C's.
pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut u8 {
    if can_align(alignment) && tls::take(footprint(size)) {
        return sampled_or(size, alignment, || {
            // SAFETY: the caller's contract.
            unsafe { NEXT.aligned_alloc()(alignment, size) }
        });
    }
    // SAFETY: the caller's contract.
    unsafe { NEXT.aligned_alloc()(alignment, size) }
}

/// # Safety
/// As glibc's.
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut u8 {
    if can_align(alignment) && tls::take(footprint(size)) {
        return sampled_or(size, alignment, || {
            // SAFETY: the caller's contract.
            unsafe { NEXT.memalign()(alignment, size) }
        });
    }
    // SAFETY: the caller's contract.
    unsafe { NEXT.memalign()(alignment, size) }
}

/// # Safety
/// As glibc's.
pub unsafe extern "C" fn valloc(size: usize) -> *mut u8 {
    if tls::take(footprint(size)) {
        return sampled_or(size, PAGE, || {
            // SAFETY: the caller's contract.
            unsafe { NEXT.valloc()(size) }
        });
    }
    // SAFETY: the caller's contract.
    unsafe { NEXT.valloc()(size) }
}

/// # Safety
/// As glibc's.
pub unsafe extern "C" fn pvalloc(size: usize) -> *mut u8 {
    if let Some(whole) = size.checked_next_multiple_of(PAGE)
        && tls::take(footprint(whole))
    {
        return sampled_or(whole, PAGE, || {
            // SAFETY: the caller's contract.
            unsafe { NEXT.pvalloc()(size) }
        });
    }
    // SAFETY: the caller's contract.
    unsafe { NEXT.pvalloc()(size) }
}

/// # Safety
/// As glibc's.
pub unsafe extern "C" fn malloc_usable_size(block: *mut u8) -> usize {
    // SAFETY: the caller's contract.
    unsafe {
        if region::contains(block)
            && let Some(block) = Block::at(block)
        {
            return block.size();
        }
        NEXT.malloc_usable_size()(block)
    }
}

/// # Safety
/// As C23's.
pub unsafe extern "C" fn free_sized(block: *mut u8, _size: usize) {
    // SAFETY: the caller's contract.
    unsafe { free(block) }
}

/// # Safety
/// As C23's.
pub unsafe extern "C" fn free_aligned_sized(block: *mut u8, _alignment: usize, _size: usize) {
    // SAFETY: the caller's contract.
    unsafe { free(block) }
}

/// A new block for which the countdown ended: a sample, or what `next` gives.
#[cold]
#[inline(never)]
pub(crate) fn sampled_or(size: usize, alignment: usize, next: impl FnOnce() -> *mut u8) -> *mut u8 {
    block_or(sample::born(&Malloc, size, alignment), next)
}

pub(crate) fn block_or(born: Born, next: impl FnOnce() -> *mut u8) -> *mut u8 {
    match born {
        Born::Sample(fresh) => fresh.block.address(),
        Born::NoRoom => sample::counted_as_lost(next()),
        Born::Pass => next(),
    }
}

#[cold]
#[inline(never)]
pub(crate) fn zeroed_or(size: usize, alignment: usize, next: impl FnOnce() -> *mut u8) -> *mut u8 {
    match sample::born(&Malloc, size, alignment) {
        Born::Sample(fresh) => {
            let block = fresh.block.address();
            // SAFETY: the block has `size` bytes, of which `dirty` may be other than zero.
            unsafe { block.write_bytes(0, fresh.dirty) };
            block
        }
        Born::NoRoom => sample::counted_as_lost(next()),
        Born::Pass => next(),
    }
}

/// # Safety
/// As C's realloc, for a block in the region.
#[cold]
unsafe fn realloc_sampled(address: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the caller's contract. A block that is not live is the next allocator's to judge.
    unsafe {
        let Some(block) = Block::at(address) else { return NEXT.realloc()(address, size) };
        if size == 0 {
            // Whether that frees, and what it returns, is up to the next allocator.
            free(address);
            return NEXT.realloc()(NEXT.malloc()(1), 0);
        }
        if size > isize::MAX as usize {
            return NEXT.realloc()(null_mut(), size);
        }
        sample::resized(&Malloc, block, size, 1)
    }
}

/// What the program asked for, in words, of a block with so many usable bytes. glibc has 8 bytes more
/// than a multiple of 16, and programs mostly ask for that multiple; where they don't, a growth is a
/// word more or less than is counted.
pub(crate) fn words_of_usable(usable: usize) -> u64 {
    let slack = if usable % 16 == 8 { 8 } else { 0 };
    words(usable - slack)
}

pub(crate) fn can_align(alignment: usize) -> bool {
    alignment.is_power_of_two() && alignment <= LARGEST_ALIGNMENT
}
