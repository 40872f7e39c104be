//! The time, by the function that the kernel maps into each process (vdso(7)). \[UNSAFE\]
//!
//! libc's `clock_gettime` may be somebody else's, who says what the program is to believe; the recorder's
//! clock is the kernel's.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use lifetrace_transport::message::MonotonicNanos;

use super::raw;
use crate::loader::image::{Access, Image};
use crate::loader::symbols;

type Clock = unsafe extern "C" fn(c_int, *mut libc::timespec) -> c_int;

#[cfg(target_arch = "x86_64")]
const NAME: &CStr = c"__vdso_clock_gettime";
#[cfg(target_arch = "aarch64")]
const NAME: &CStr = c"__kernel_clock_gettime";

/// How to ask; null before it is known.
static CLOCK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// `CLOCK_MONOTONIC`.
#[inline]
pub fn now() -> MonotonicNanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    if unsafe { clock()(libc::CLOCK_MONOTONIC, &mut time) } != 0 {
        // SAFETY: as above.
        unsafe { by_system_call(libc::CLOCK_MONOTONIC, &mut time) };
    }
    MonotonicNanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[inline]
fn clock() -> Clock {
    let clock = CLOCK.load(Ordering::Relaxed);
    if clock.is_null() {
        return find();
    }
    // SAFETY: `find` stores functions of this type alone.
    unsafe { core::mem::transmute::<*mut c_void, Clock>(clock) }
}

/// Looks the function up. Who does so at the same time finds the same.
#[cold]
#[inline(never)]
fn find() -> Clock {
    // SAFETY: the kernel's function has this type.
    let found =
        kernels_own().map(|found| unsafe { core::mem::transmute::<*mut c_void, Clock>(found) });
    let clock = found.unwrap_or(by_system_call);
    CLOCK.store(clock as *mut c_void, Ordering::Relaxed);
    clock
}

fn kernels_own() -> Option<*mut c_void> {
    let start = super::auxiliary(libc::AT_SYSINFO_EHDR)?;
    let image = Image::at(start, Access::Direct)?;
    let found = symbols::find(image.bias, image.dynamic()?, NAME, Access::Direct)?;
    Some(found.as_ptr())
}

/// # Safety
/// As C's `clock_gettime`.
unsafe extern "C" fn by_system_call(clock: c_int, time: *mut libc::timespec) -> c_int {
    // SAFETY: by contract.
    match unsafe { raw::call(libc::SYS_clock_gettime, [clock as usize, time as usize]) } {
        Ok(_) => 0,
        Err(error) => -error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_brings_the_clock_and_it_is_the_systems() {
        // An emulator may bring none.
        let is_brought = super::super::auxiliary(libc::AT_SYSINFO_EHDR).is_some();
        assert_eq!(kernels_own().is_some(), is_brought);
        let ask = |clock: Clock| {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: writes one timespec.
            assert_eq!(unsafe { clock(libc::CLOCK_MONOTONIC, &mut time) }, 0);
            (time.tv_sec, time.tv_nsec)
        };
        let times = [by_system_call, find(), by_system_call, clock()].map(ask);
        assert!(times.is_sorted(), "{times:?}");
    }
}
