//! What C's functions do, by the next ones of these names. \[UNSAFE\]

use core::ffi::{c_int, c_void};
use core::mem::transmute;

use lifetrace_agent::sys;
use lifetrace_transport::patch::Shape;

use crate::next::Named;

type Mmap = unsafe extern "C" fn(*mut u8, usize, c_int, c_int, c_int, i64) -> *mut u8;
type Munmap = unsafe extern "C" fn(*mut u8, usize) -> c_int;
type Mremap = unsafe extern "C" fn(*mut u8, usize, usize, c_int, *mut u8) -> *mut u8;
type Mprotect = unsafe extern "C" fn(*mut u8, usize, c_int) -> c_int;
type PkeyMprotect = unsafe extern "C" fn(*mut u8, usize, c_int, c_int) -> c_int;
type Brk = unsafe extern "C" fn(*mut u8) -> c_int;
type Sbrk = unsafe extern "C" fn(isize) -> *mut u8;

static MMAP: Named = Named::new(c"mmap");
static MUNMAP: Named = Named::new(c"munmap");
static MREMAP: Named = Named::new(c"mremap");
static MPROTECT: Named = Named::new(c"mprotect");
static PKEY_MPROTECT: Named = Named::new(c"pkey_mprotect");
static BRK: Named = Named::new(c"brk");
static SBRK: Named = Named::new(c"sbrk");

pub(super) const FAILED: usize = usize::MAX;

/// Finds the next functions. The process has a single thread now.
pub(crate) fn resolve() {
    for next in [&MMAP, &MUNMAP, &MREMAP, &MPROTECT, &PKEY_MPROTECT, &BRK, &SBRK] {
        next.get();
    }
}

/// The next function of this shape is a copy of its first instructions, which goes on in the rest of it.
pub(super) fn go_on_at(shape: Shape, copy: usize) {
    let next = match shape {
        Shape::Mmap => &MMAP,
        Shape::Munmap => &MUNMAP,
        Shape::Mremap => &MREMAP,
        Shape::Mprotect => &MPROTECT,
        Shape::PkeyMprotect => &PKEY_MPROTECT,
        Shape::Brk => &BRK,
        Shape::Sbrk => &SBRK,
        _ => return,
    };
    next.lead_to(copy);
}

/// # Safety
/// As C's.
pub(super) unsafe fn mmap(
    address: *mut u8,
    bytes: usize,
    access: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: i64,
) -> *mut u8 {
    // SAFETY: C's function of that name, with the caller's contract.
    unsafe {
        match MMAP.known() {
            Some(next) => {
                let next = transmute::<*mut c_void, Mmap>(next);
                next(address, bytes, access, flags, descriptor, offset)
            }
            None => sys::pages::mmap(address, bytes, access, flags, descriptor, offset),
        }
    }
}

/// # Safety
/// As C's.
pub(super) unsafe fn munmap(address: *mut u8, bytes: usize) -> c_int {
    // SAFETY: C's function of that name, with the caller's contract.
    unsafe {
        match MUNMAP.known() {
            Some(next) => transmute::<*mut c_void, Munmap>(next)(address, bytes),
            None => sys::pages::munmap(address, bytes),
        }
    }
}

/// # Safety
/// As C's.
pub(super) unsafe fn mremap(
    old: *mut u8,
    old_bytes: usize,
    bytes: usize,
    flags: c_int,
    new: *mut u8,
) -> *mut u8 {
    // SAFETY: C's function of that name, with the caller's contract.
    unsafe {
        match MREMAP.known() {
            Some(next) => transmute::<*mut c_void, Mremap>(next)(old, old_bytes, bytes, flags, new),
            None => sys::pages::mremap(old, old_bytes, bytes, flags, new),
        }
    }
}

/// # Safety
/// As C's.
pub(super) unsafe fn mprotect(address: *mut u8, bytes: usize, access: c_int) -> c_int {
    // SAFETY: C's function of that name, with the caller's contract.
    unsafe {
        match MPROTECT.known() {
            Some(next) => transmute::<*mut c_void, Mprotect>(next)(address, bytes, access),
            None => sys::pages::mprotect(address, bytes, access),
        }
    }
}

/// # Safety
/// As C's.
pub(super) unsafe fn pkey_mprotect(
    address: *mut u8,
    bytes: usize,
    access: c_int,
    key: c_int,
) -> c_int {
    let Some(next) = PKEY_MPROTECT.known() else {
        sys::set_errno(libc::ENOSYS);
        return -1;
    };
    // SAFETY: C's function of that name, with the caller's contract.
    unsafe { transmute::<*mut c_void, PkeyMprotect>(next)(address, bytes, access, key) }
}

/// # Safety
/// As C's.
pub(super) unsafe fn brk(end: *mut u8) -> c_int {
    let Some(next) = BRK.known() else {
        sys::set_errno(libc::ENOMEM);
        return -1;
    };
    // SAFETY: C's function of that name, with the caller's contract.
    unsafe { transmute::<*mut c_void, Brk>(next)(end) }
}

/// # Safety
/// As C's.
pub(super) unsafe fn sbrk(more: isize) -> *mut u8 {
    let Some(next) = SBRK.known() else {
        sys::set_errno(libc::ENOMEM);
        return core::ptr::without_provenance_mut(FAILED);
    };
    // SAFETY: C's function of that name, with the caller's contract.
    unsafe { transmute::<*mut c_void, Sbrk>(next)(more) }
}
