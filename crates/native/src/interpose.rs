//! The malloc family. \[UNSAFE\]
//!
//! Each function is a few instructions in front of a jump to the next allocator's. The preload library
//! exports them under their C names. What C promises about arguments, results and `errno` is the next
//! allocator's affair: every block is its own, sampled or not.

use core::ffi::c_int;
use core::ptr::null_mut;

use lifetrace_agent::announcer::Announcer;
use lifetrace_agent::phase::Start;
use lifetrace_agent::sampler::{WORD, footprint, words};
use lifetrace_agent::tls;
use lifetrace_agent::tracker::Tracker;
use lifetrace_transport::message::SampleId;

use crate::live::{Block, filter};
use crate::next::{self, NEXT};
use crate::sample::{self, Ear};
use crate::start;

const PAGE: usize = 4096;

/// The malloc family as a source of samples.
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

/// # Safety
/// C's contract; the same holds for all functions here.
#[inline(always)]
pub unsafe extern "C" fn malloc(size: usize) -> *mut u8 {
    if tls::take(footprint(size)) {
        return sampled(size, || {
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
        if filter::may_be_sampled(block) {
            return free_maybe_sampled(block);
        }
        NEXT.free()(block)
    }
}

/// # Safety
/// As C's free.
#[cold]
#[inline(never)]
unsafe extern "C" fn free_maybe_sampled(block: *mut u8) {
    // SAFETY: the caller's contract.
    unsafe {
        freed(block);
        NEXT.free()(block);
    }
}

/// # Safety
/// As C's.
#[inline(always)]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut u8 {
    // SAFETY: the caller's contract.
    let next = || unsafe { NEXT.calloc()(count, size) };
    match count.checked_mul(size) {
        Some(bytes) if tls::take(footprint(bytes)) => sampled(bytes, next),
        _ => next(),
    }
}

/// # Safety
/// As C's.
pub unsafe extern "C" fn realloc(block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the caller's contract.
    unsafe {
        if block.is_null() {
            return malloc(size);
        }
        resized(block, size, || NEXT.realloc()(block, size))
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
    let mut result = 0;
    // SAFETY: the caller's contract.
    let mut next = || unsafe {
        result = NEXT.posix_memalign()(place, alignment, size);
        if result == 0 { *place } else { null_mut() }
    };
    if tls::take(footprint(size)) {
        sampled(size, next);
    } else {
        next();
    }
    result
}

/// # Safety
/// As C's.
pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut u8 {
    // SAFETY: the caller's contract.
    let next = || unsafe { NEXT.aligned_alloc()(alignment, size) };
    if tls::take(footprint(size)) { sampled(size, next) } else { next() }
}

/// # Safety
/// As glibc's.
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut u8 {
    // SAFETY: the caller's contract.
    let next = || unsafe { NEXT.memalign()(alignment, size) };
    if tls::take(footprint(size)) { sampled(size, next) } else { next() }
}

/// # Safety
/// As glibc's.
pub unsafe extern "C" fn valloc(size: usize) -> *mut u8 {
    // SAFETY: the caller's contract.
    let next = || unsafe { NEXT.valloc()(size) };
    if tls::take(footprint(size)) { sampled(size, next) } else { next() }
}

/// # Safety
/// As glibc's.
pub unsafe extern "C" fn pvalloc(size: usize) -> *mut u8 {
    // SAFETY: the caller's contract.
    let next = || unsafe { NEXT.pvalloc()(size) };
    match size.checked_next_multiple_of(PAGE) {
        Some(whole) if tls::take(footprint(whole)) => sampled(whole, next),
        _ => next(),
    }
}

/// # Safety
/// As glibc's.
pub unsafe extern "C" fn malloc_usable_size(block: *mut u8) -> usize {
    // SAFETY: the caller's contract.
    unsafe { NEXT.malloc_usable_size()(block) }
}

/// # Safety
/// As C23's.
pub unsafe extern "C" fn free_sized(block: *mut u8, size: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if filter::may_be_sampled(block) {
            freed(block);
        }
        NEXT.free_sized()(block, size)
    }
}

/// # Safety
/// As C23's.
pub unsafe extern "C" fn free_aligned_sized(block: *mut u8, alignment: usize, size: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if filter::may_be_sampled(block) {
            freed(block);
        }
        NEXT.free_aligned_sized()(block, alignment, size)
    }
}

/// A new block, which `next` gives, and for which the countdown has ended: a sample, if its words are hit.
#[cold]
#[inline(never)]
pub(crate) fn sampled(size: usize, next: impl FnOnce() -> *mut u8) -> *mut u8 {
    let drawn = sample::draw(&Malloc, size);
    let block = next();
    if let Some(drawn) = drawn
        && !block.is_null()
    {
        // SAFETY: the next allocator's block, a line ago.
        let mark = unsafe { usable(block) };
        sample::born(&Malloc, drawn, block, size, mark);
    }
    block
}

/// To be called before a block is freed that may be a sample.
///
/// # Safety
/// The block is the next allocator's, or null.
#[cold]
#[inline(never)]
pub(crate) unsafe fn freed(block: *mut u8) {
    // SAFETY: by contract.
    sample::freed(&Malloc, block, || unsafe { usable(block) });
}

/// What `next` makes of a block to which it gives the size `size`.
///
/// # Safety
/// The block is the next allocator's, and `next` does what C says of realloc.
pub(crate) unsafe fn resized(
    block: *mut u8,
    size: usize,
    next: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    // SAFETY: by contract.
    unsafe {
        if filter::may_be_sampled(block)
            && let Some(sample) = sample::lift(&Malloc, block, || usable(block))
        {
            return sample_resized(sample, block, size, next);
        }
        let old_words = words_of_usable(usable(block));
        let added = words(size).saturating_sub(old_words);
        if size != 0 && old_words != 0 && added != 0 && tls::take((added * WORD) as usize) {
            return grown(size, added, next);
        }
    }
    next()
}

/// The countdown has ended for the words that `next` adds to a block that is no sample.
#[cold]
#[inline(never)]
fn grown(size: usize, added: u64, next: impl FnOnce() -> *mut u8) -> *mut u8 {
    let drawn = sample::draw(&Malloc, (added * WORD) as usize);
    let block = next();
    if let Some(drawn) = drawn
        && !block.is_null()
    {
        // SAFETY: the next allocator's block, a line ago.
        let mark = unsafe { usable(block) };
        sample::grown(&Malloc, drawn, block, added, size, mark);
    }
    block
}

/// # Safety
/// As for [`resized`], of a block that was a sample until now.
#[cold]
#[inline(never)]
unsafe fn sample_resized(
    sample: Block,
    old: *mut u8,
    size: usize,
    next: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let block = next();
    match (block.is_null(), size) {
        // What an allocator without memory returns, or one that has freed the block.
        (true, 0) => sample::ended(&Malloc, sample),
        (true, _) => sample::put_back(&Malloc, old, sample),
        // SAFETY: the next allocator's block, a line ago.
        (false, _) => sample::resized(&Malloc, sample, block, size, unsafe { usable(block) }),
    }
    block
}

/// What the next allocator says of its block; 0 if it does not say anything. What it allocates to answer
/// (tcmalloc does so the first time) is not the program's.
///
/// # Safety
/// The block is the next allocator's, or null.
pub(crate) unsafe fn usable(block: *mut u8) -> usize {
    if !next::tells_usable_size() {
        return 0;
    }
    // SAFETY: by contract.
    tls::aside(|| unsafe { NEXT.malloc_usable_size()(block) })
}

/// What the program asked for, in words, of a block with so many usable bytes; 0 if that is not known.
/// glibc has 8 bytes more than a multiple of 16, and programs mostly ask for that multiple; where they
/// don't, a growth is a word more or less than is counted.
pub(crate) fn words_of_usable(usable: usize) -> u64 {
    let slack = if usable % 16 == 8 { 8 } else { 0 };
    if usable == 0 { 0 } else { words(usable - slack) }
}
