//! Memory from the kernel. \[UNSAFE\]

use core::ffi::{CStr, c_int};
use core::ptr::NonNull;

use super::descriptor::{self, Descriptor};
use super::raw;

const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;
const ANONYMOUS: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
const NO_DESCRIPTOR: c_int = -1;

/// Fresh zeroed private memory, whole pages; `None` when there is none to be had.
pub fn map(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: at an address of the kernel's choice.
    unsafe { mmap(0, bytes, READ_WRITE, ANONYMOUS, NO_DESCRIPTOR, 0) }
}

/// Fresh zeroed private memory at `address`, if nothing else is there: never more than that.
pub fn map_at(address: usize, bytes: usize) -> bool {
    let flags = ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: the flag makes the kernel refuse to disturb an existing mapping.
    let start = unsafe { mmap(address, bytes, READ_WRITE, flags, NO_DESCRIPTOR, 0) };
    let Some(start) = start else { return false };
    if start.as_ptr() as usize == address {
        return true;
    }
    // A kernel before 4.17 takes the address for a hint.
    // SAFETY: mapped a line ago, and nobody knows it.
    unsafe { unmap(start, bytes) };
    false
}

/// The first `bytes` of the memory behind `descriptor`, shared.
pub fn map_shared(descriptor: &Descriptor, bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: at an address of the kernel's choice.
    unsafe { mmap(0, bytes, READ_WRITE, libc::MAP_SHARED, descriptor.number(), 0) }
}

/// So many bytes of a file from `offset` on, which is a multiple of the page size, read-only; `None`
/// if the file has not so many.
pub fn map_file(path: &CStr, offset: u64, bytes: usize) -> Option<NonNull<u8>> {
    let file = descriptor::open(path)?;
    let end = offset.checked_add(bytes as u64)?;
    (file.length()? >= end).then_some(())?;
    // SAFETY: at an address of the kernel's choice.
    unsafe { mmap(0, bytes, libc::PROT_READ, libc::MAP_PRIVATE, file.number(), offset) }
}

/// Gives the memory of whole pages back; they read as zero, or as the file's, from now on.
///
/// # Safety
/// The pages are the caller's and private, and nobody needs what was written to them.
pub unsafe fn discard(start: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: by this function's contract.
    unsafe { advise(start, bytes, libc::MADV_DONTNEED) }
}

/// Gives the memory of whole shared pages back, for all who have mapped them; they read as zero.
///
/// # Safety
/// Nobody needs what they hold.
pub unsafe fn discard_shared(start: NonNull<u8>, bytes: usize) {
    // SAFETY: by this function's contract; where it is not possible, nothing happens.
    unsafe { advise(start, bytes, libc::MADV_REMOVE) };
}

/// Asks for small pages only, so that a sparse region stays small.
pub fn avoid_huge_pages(start: NonNull<u8>, bytes: usize) {
    // SAFETY: advice; changes no contents.
    unsafe { advise(start, bytes, libc::MADV_NOHUGEPAGE) };
}

/// Bytes of a huge page, and what it begins at a multiple of, on the processors that there are agents for.
pub const HUGE_PAGE: usize = 2 << 20;

/// As [`map`], of the size of a huge page, and in one if the kernel has one at hand.
pub fn map_huge() -> Option<NonNull<u8>> {
    let around = map(2 * HUGE_PAGE)?;
    let before = around.as_ptr().align_offset(HUGE_PAGE);
    // SAFETY: within what was just mapped, of which nobody knows; its ends are given back.
    unsafe {
        let start = around.add(before);
        if before > 0 {
            unmap(around, before);
        }
        unmap(start.add(HUGE_PAGE), HUGE_PAGE - before);
        advise(start, HUGE_PAGE, libc::MADV_HUGEPAGE);
        Some(start)
    }
}

/// Has the kernel zero these pages in any forked child; false on kernels before 4.14.
///
/// # Safety
/// The pages are the caller's, private and anonymous.
pub unsafe fn wipe_on_fork(start: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: by this function's contract.
    unsafe { advise(start, bytes, libc::MADV_WIPEONFORK) }
}

/// What may be done with whole pages, as `mprotect` has it; whether the kernel allows that.
///
/// # Safety
/// Nobody does with them what may not be done any more.
pub unsafe fn protect(start: NonNull<u8>, bytes: usize, access: c_int) -> bool {
    let start = start.as_ptr() as usize;
    // SAFETY: by this function's contract.
    unsafe { raw::call(libc::SYS_mprotect, [start, bytes, access as usize]) }.is_ok()
}

/// Removes a mapping.
///
/// # Safety
/// The pages are the caller's and nobody uses them any more.
pub unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: by this function's contract.
    let _ = unsafe { raw::call(libc::SYS_munmap, [start.as_ptr() as usize, bytes]) };
}

/// # Safety
/// As [`discard`] where the advice changes contents.
unsafe fn advise(start: NonNull<u8>, bytes: usize, advice: c_int) -> bool {
    let start = start.as_ptr() as usize;
    // SAFETY: by this function's contract.
    unsafe { raw::call(libc::SYS_madvise, [start, bytes, advice as usize]) }.is_ok()
}

/// # Safety
/// At an address of the kernel's choice, or not to be put in place of anything.
unsafe fn mmap(
    address: usize,
    bytes: usize,
    access: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: u64,
) -> Option<NonNull<u8>> {
    let (access, flags) = (access as usize, flags as usize);
    let arguments = [address, bytes, access, flags, descriptor as usize, offset as usize];
    // SAFETY: a new mapping disturbs nothing, by contract.
    let start = unsafe { raw::call(libc::SYS_mmap, arguments) }.ok()?;
    NonNull::new(start as *mut u8)
}
