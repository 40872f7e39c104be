//! The next definitions of jemalloc's functions.

use core::ffi::{c_int, c_void};

use super::absent;
use crate::next::table;

type Query = unsafe extern "C" fn(*const u8, c_int) -> usize;

table! {
    static NEXT: Jemalloc;
    mallocx: unsafe extern "C" fn(usize, c_int) -> *mut u8 = absent::mallocx;
    rallocx: unsafe extern "C" fn(*mut u8, usize, c_int) -> *mut u8 = absent::rallocx;
    xallocx: unsafe extern "C" fn(*mut u8, usize, usize, c_int) -> usize = absent::xallocx;
    sallocx: Query = absent::sallocx;
    dallocx: unsafe extern "C" fn(*mut u8, c_int) = absent::dallocx;
    sdallocx: unsafe extern "C" fn(*mut u8, usize, c_int) = absent::sdallocx;
    nallocx: unsafe extern "C" fn(usize, c_int) -> usize = absent::nallocx;
}

/// Looks the next definitions up.
pub(crate) fn resolve() {
    NEXT.look_up();
}

/// As [`Next::replace`](crate::next::Next::replace).
pub(crate) fn replace(by: &mut impl FnMut(*mut c_void) -> *mut c_void) {
    NEXT.replace(by);
}
