//! The process's environment. \[UNSAFE\]

use core::ffi::{CStr, c_char};
use core::ptr;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// The environment is there: libc's own constructor has run.
pub fn environment_is_ready() -> bool {
    // SAFETY: reads libc's pointer.
    unsafe { !environ.is_null() }
}

/// The value of an environment variable, as it is now.
pub fn environment_variable(name: &str) -> Option<&'static [u8]> {
    environment().find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// Removes the first entry that `unwanted` picks, in place. Only for when the process has a single
/// thread: before main.
pub fn remove_environment_variable(unwanted: impl Fn(&[u8]) -> bool) {
    let Some(index) = environment().position(unwanted) else { return };
    // SAFETY: `environment` has just walked these pointers up to the final null; they move down
    // by one, the null included.
    unsafe {
        let mut at = environ.add(index);
        while !(*at).is_null() {
            *at = *at.add(1);
            at = at.add(1);
        }
    }
}

/// Overwrites an environment entry with a shorter one, in place; same condition.
pub fn shorten_environment_variable(name: &str, value: impl Fn(&[u8]) -> Option<usize>) {
    let Some(old) = environment_variable(name) else { return };
    let Some(skip) = value(old) else { return };
    let start = old.as_ptr().cast_mut();
    // SAFETY: the string is the process's own writable memory; what moves is its tail and the
    // terminating zero, towards its front.
    unsafe { ptr::copy(start.add(skip), start, old.len() - skip + 1) };
}

fn environment() -> impl Iterator<Item = &'static [u8]> {
    // SAFETY: `environ` is null or an array of C strings that ends with a null pointer.
    let mut at = unsafe { environ };
    core::iter::from_fn(move || {
        // SAFETY: as above; `at` has not passed the final null.
        unsafe {
            if at.is_null() || (*at).is_null() {
                return None;
            }
            let entry = CStr::from_ptr(*at).to_bytes();
            at = at.add(1);
            Some(entry)
        }
    })
}
