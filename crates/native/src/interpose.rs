//! The malloc family. \[UNSAFE\]
//!
//! Each function is a few instructions in front of a jump to the next allocator's. The preload library
//! exports them under their C names. What C promises about arguments, results and `errno` is the next
//! allocator's affair: every block is its own, sampled or not.

use core::ffi::c_int;
use core::ptr::null_mut;

use lifetrace_agent::announcer::Announcer;
use lifetrace_agent::phase::Start;
use lifetrace_agent::sampler::footprint;
use lifetrace_agent::tls;
use lifetrace_agent::tracker::Tracker;
use lifetrace_transport::message::SampleId;

use crate::blocks::{self, Allocator};
use crate::live::filter;
use crate::next::{self, NEXT};
use crate::sample::SampleListener;
use crate::start;

const PAGE: usize = 4096;

/// The malloc family as a source of samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Malloc;

impl SampleListener for Malloc {
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
        blocks::resized(&NextAllocator, block, size, || NEXT.realloc()(block, size))
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

/// The allocator that is next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextAllocator;

impl Allocator for NextAllocator {
    fn tells_usable_size(&self) -> bool {
        next::tells_usable_size()
    }

    /// What it allocates to answer (tcmalloc does so the first time) is not the program's.
    fn usable_size(&self, block: *mut u8) -> usize {
        if !next::tells_usable_size() {
            return 0;
        }
        // SAFETY: callers pass blocks of this allocator, or null.
        tls::aside(|| unsafe { NEXT.malloc_usable_size()(block) })
    }
}

pub(crate) fn sampled(size: usize, next: impl FnOnce() -> *mut u8) -> *mut u8 {
    blocks::born(&NextAllocator, size, next)
}

pub(crate) fn freed(block: *mut u8) {
    blocks::freed(&NextAllocator, block);
}
