//! The system calls behind C's functions for pages of memory, with C's answers. \[UNSAFE\]
//!
//! For a caller of those functions who comes before the program's own are known.

use core::ffi::c_int;
use core::ptr::without_provenance_mut;

use super::{as_in_c, raw};

/// # Safety
/// As C's.
pub unsafe fn mmap(
    address: *mut u8,
    bytes: usize,
    access: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: i64,
) -> *mut u8 {
    let (access, flags, descriptor) = (access as usize, flags as usize, descriptor as usize);
    let arguments = [address as usize, bytes, access, flags, descriptor, offset as usize];
    // SAFETY: by contract.
    without_provenance_mut(as_in_c(unsafe { raw::call(libc::SYS_mmap, arguments) }) as usize)
}

/// # Safety
/// As C's.
pub unsafe fn munmap(address: *mut u8, bytes: usize) -> c_int {
    // SAFETY: by contract.
    as_in_c(unsafe { raw::call(libc::SYS_munmap, [address as usize, bytes]) }) as c_int
}

/// # Safety
/// As C's.
pub unsafe fn mremap(
    old: *mut u8,
    old_bytes: usize,
    bytes: usize,
    flags: c_int,
    new: *mut u8,
) -> *mut u8 {
    let arguments = [old as usize, old_bytes, bytes, flags as usize, new as usize];
    // SAFETY: by contract.
    without_provenance_mut(as_in_c(unsafe { raw::call(libc::SYS_mremap, arguments) }) as usize)
}

/// # Safety
/// As C's.
pub unsafe fn mprotect(address: *mut u8, bytes: usize, access: c_int) -> c_int {
    let arguments = [address as usize, bytes, access as usize];
    // SAFETY: by contract.
    as_in_c(unsafe { raw::call(libc::SYS_mprotect, arguments) }) as c_int
}
