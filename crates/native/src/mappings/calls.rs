//! Calls that map memory, as C's functions of these names, of which the recorder is told where they are heard. \[UNSAFE\]

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_transport::message::Step;

use super::next::{self, FAILED};
use super::saying::{PAGE, is_whole, round_up, say, say_between};

/// Whether any memory was reserved that may be opened.
static ARE_RESERVED: AtomicBool = AtomicBool::new(false);

const MREMAP_DONTUNMAP: c_int = 4;

/// # Safety
/// As C's.
#[inline]
pub(super) unsafe fn mmap(
    is_heard: bool,
    address: *mut u8,
    bytes: usize,
    access: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: i64,
) -> *mut u8 {
    // SAFETY: the caller's contract.
    let start = unsafe { next::mmap(address, bytes, access, flags, descriptor, offset) };
    if is_heard && start as usize != FAILED {
        mapped(start as usize, bytes, access, flags);
    }
    start
}

#[cold]
#[inline(never)]
fn mapped(start: usize, bytes: usize, access: c_int, flags: c_int) {
    let step = match flags & libc::MAP_ANONYMOUS != 0 {
        true if access == libc::PROT_NONE => {
            ARE_RESERVED.store(true, Ordering::Relaxed);
            Step::Reserved
        }
        true => Step::Mapped,
        // A file is in the place of whatever was there.
        false if flags & libc::MAP_FIXED != 0 => Step::Unmapped,
        false => return,
    };
    say(step, start, round_up(bytes, page_of(flags)));
}

/// Bytes of a page of such a mapping.
fn page_of(flags: c_int) -> usize {
    const USUAL_HUGE: u32 = 21;
    if flags & libc::MAP_HUGETLB == 0 {
        return PAGE;
    }
    match flags as u32 >> libc::MAP_HUGE_SHIFT & 0x3f {
        0 => 1 << USUAL_HUGE,
        bits => 1 << bits,
    }
}

/// # Safety
/// As C's.
#[inline]
pub(super) unsafe fn munmap(is_heard: bool, address: *mut u8, bytes: usize) -> c_int {
    let is_said = is_heard && is_whole(address as usize, bytes);
    if is_said {
        say(Step::Unmapped, address as usize, round_up(bytes, PAGE));
    }
    // SAFETY: the caller's contract.
    let result = unsafe { next::munmap(address, bytes) };
    if is_said && result != 0 {
        say(Step::StillMapped, 0, 0);
    }
    result
}

/// # Safety
/// As C's, which is variadic: an address that the flags do not ask for may be anything.
#[inline]
pub(super) unsafe fn mremap(
    is_heard: bool,
    old: *mut u8,
    old_bytes: usize,
    bytes: usize,
    flags: c_int,
    new: *mut u8,
) -> *mut u8 {
    let stays = flags & MREMAP_DONTUNMAP != 0;
    let is_lifted = is_heard && is_whole(old as usize, old_bytes) && !stays;
    if is_lifted {
        say(Step::Lifted, old as usize, round_up(old_bytes, PAGE));
    }
    // SAFETY: the caller's contract.
    let start = unsafe { next::mremap(old, old_bytes, bytes, flags, new) };
    match start as usize {
        FAILED if is_lifted => say(Step::Landed, old as usize, round_up(old_bytes, PAGE)),
        FAILED => {}
        start if is_lifted => say(Step::Landed, start, round_up(bytes, PAGE)),
        start if is_heard && stays => say(Step::Mapped, start, round_up(bytes, PAGE)),
        // The same shared pages once more.
        start if is_heard => say(Step::Unmapped, start, round_up(bytes, PAGE)),
        _ => {}
    }
    start
}

/// # Safety
/// As C's.
#[inline]
pub(super) unsafe fn mprotect(
    is_heard: bool,
    address: *mut u8,
    bytes: usize,
    access: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    let result = unsafe { next::mprotect(address, bytes, access) };
    if is_heard && result == 0 {
        protected(address as usize, bytes, access);
    }
    result
}

/// # Safety
/// As C's.
#[inline]
pub(super) unsafe fn pkey_mprotect(
    is_heard: bool,
    address: *mut u8,
    bytes: usize,
    access: c_int,
    key: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    let result = unsafe { next::pkey_mprotect(address, bytes, access, key) };
    if is_heard && result == 0 {
        protected(address as usize, bytes, access);
    }
    result
}

fn protected(start: usize, bytes: usize, access: c_int) {
    if access != libc::PROT_NONE && ARE_RESERVED.load(Ordering::Relaxed) {
        say(Step::Opened, start, round_up(bytes, PAGE));
    }
}

/// # Safety
/// As C's.
#[inline]
pub(super) unsafe fn brk(is_heard: bool, end: *mut u8) -> c_int {
    // SAFETY: tells where the end is now.
    let before = if is_heard { unsafe { next::sbrk(0) as usize } } else { FAILED };
    let is_cut = before != FAILED && (end as usize) < before;
    if is_cut {
        say_between(Step::Unmapped, end as usize, before);
    }
    // SAFETY: the caller's contract.
    let result = unsafe { next::brk(end) };
    match result {
        0 if before != FAILED && !is_cut => say_between(Step::Mapped, before, end as usize),
        0 => {}
        _ if is_cut => say(Step::StillMapped, 0, 0),
        _ => {}
    }
    result
}

/// # Safety
/// As C's.
#[inline]
pub(super) unsafe fn sbrk(is_heard: bool, more: isize) -> *mut u8 {
    let is_cut = more < 0 && is_heard;
    if is_cut {
        // SAFETY: tells where the end is now.
        let end = unsafe { next::sbrk(0) } as usize;
        say_between(Step::Unmapped, end.wrapping_add_signed(more), end);
    }
    // SAFETY: the caller's contract.
    let before = unsafe { next::sbrk(more) };
    match before as usize {
        FAILED if is_cut => say(Step::StillMapped, 0, 0),
        FAILED => {}
        start if more > 0 && is_heard => {
            say_between(Step::Mapped, start, start.wrapping_add_signed(more));
        }
        _ => {}
    }
    before
}
