//! Memory for those who allocate before the next allocator is known: the loader's own look-up of
//! it, above all. \[UNSAFE\]
//!
//! A few kilobytes, handed out once and never reused. Blocks carry their size in the 16 bytes
//! before them.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::next::Next;

const BYTES: usize = 64 * 1024;

#[repr(C, align(4096))]
struct Memory(UnsafeCell<[u8; BYTES]>);

// SAFETY: parts are handed out once each, by an atomic counter.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new([0; BYTES]));
static USED: AtomicUsize = AtomicUsize::new(0);
static REAL_FREE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static REAL_REALLOC: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static REAL_USABLE_SIZE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

type Free = unsafe extern "C" fn(*mut u8);
type Realloc = unsafe extern "C" fn(*mut u8, usize) -> *mut u8;
type UsableSize = unsafe extern "C" fn(*mut u8) -> usize;

/// Keeps the stand-ins in front if they have given memory out.
pub(crate) fn stay_if_used(next: &Next) {
    if USED.load(Ordering::Relaxed) > 0 {
        next.guard_boot_memory();
    }
}

/// What the stand-ins call for blocks that are not theirs.
pub(crate) fn remember(free: Free, realloc: Realloc, usable_size: UsableSize) {
    REAL_FREE.store(free as *mut c_void, Ordering::Relaxed);
    REAL_REALLOC.store(realloc as *mut c_void, Ordering::Relaxed);
    REAL_USABLE_SIZE.store(usable_size as *mut c_void, Ordering::Relaxed);
}

/// As [`Next::replace`].
pub(crate) fn replace(by: &mut impl FnMut(*mut c_void) -> *mut c_void) {
    for place in [&REAL_FREE, &REAL_REALLOC, &REAL_USABLE_SIZE] {
        place.store(by(place.load(Ordering::Relaxed)), Ordering::Relaxed);
    }
}

/// # Safety
/// Callable as C's; the same holds for all functions here.
pub unsafe extern "C" fn malloc(size: usize) -> *mut u8 {
    take(size, 16)
}

/// # Safety
/// As C's.
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut u8 {
    // The memory is fresh, and so zero.
    count.checked_mul(size).map_or(core::ptr::null_mut(), |bytes| take(bytes, 16))
}

/// # Safety
/// As C's.
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut u8 {
    if alignment.is_power_of_two() { take(size, alignment) } else { core::ptr::null_mut() }
}

/// # Safety
/// As C's.
pub unsafe extern "C" fn valloc(size: usize) -> *mut u8 {
    take(size, 4096)
}

/// # Safety
/// As C's.
pub unsafe extern "C" fn posix_memalign(
    place: *mut *mut u8,
    alignment: usize,
    size: usize,
) -> c_int {
    // SAFETY: `memalign` checks its arguments; `place` is valid by contract.
    let block = unsafe { memalign(alignment, size) };
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: by contract.
    unsafe { *place = block };
    0
}

/// # Safety
/// As C's.
pub unsafe extern "C" fn free(block: *mut u8) {
    let real = REAL_FREE.load(Ordering::Relaxed);
    if is_ours(block) || block.is_null() || real.is_null() {
        return;
    }
    // SAFETY: `remember` stored a function of this type; the block is the next allocator's.
    unsafe { core::mem::transmute::<*mut c_void, Free>(real)(block) }
}

/// # Safety
/// As C's.
pub unsafe extern "C" fn realloc(block: *mut u8, size: usize) -> *mut u8 {
    let real = REAL_REALLOC.load(Ordering::Relaxed);
    if !real.is_null() && !is_ours(block) {
        // SAFETY: as in `free`.
        return unsafe { core::mem::transmute::<*mut c_void, Realloc>(real)(block, size) };
    }
    let new = if real.is_null() {
        take(size, 16)
    } else {
        // SAFETY: a new block from the next allocator.
        unsafe { core::mem::transmute::<*mut c_void, Realloc>(real)(core::ptr::null_mut(), size) }
    };
    if is_ours(block) && !new.is_null() {
        // SAFETY: both blocks have that many bytes, and are distinct.
        unsafe { core::ptr::copy_nonoverlapping(block, new, size_of_ours(block).min(size)) };
    }
    new
}

/// # Safety
/// As C's.
pub unsafe extern "C" fn malloc_usable_size(block: *mut u8) -> usize {
    let real = REAL_USABLE_SIZE.load(Ordering::Relaxed);
    if is_ours(block) {
        return size_of_ours(block);
    }
    if block.is_null() || real.is_null() {
        return 0;
    }
    // SAFETY: as in `free`.
    unsafe { core::mem::transmute::<*mut c_void, UsableSize>(real)(block) }
}

fn take(size: usize, alignment: usize) -> *mut u8 {
    let base = MEMORY.0.get() as usize;
    let Some(wanted) = size.checked_add(16 + alignment.max(16)) else {
        return core::ptr::null_mut();
    };
    let start = USED.fetch_add(wanted.min(BYTES).next_multiple_of(16), Ordering::Relaxed);
    if start.saturating_add(wanted) > BYTES {
        return core::ptr::null_mut();
    }
    let block = (base + start + 16).next_multiple_of(alignment.max(16)) as *mut u8;
    // SAFETY: the counter made these bytes ours; the size goes right before the block.
    unsafe { block.sub(16).cast::<usize>().write(size) };
    block
}

fn is_ours(block: *mut u8) -> bool {
    (block as usize).wrapping_sub(MEMORY.0.get() as usize) < BYTES
}

fn size_of_ours(block: *mut u8) -> usize {
    // SAFETY: `take` wrote it there.
    unsafe { block.sub(16).cast::<usize>().read() }
}
