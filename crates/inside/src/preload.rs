//! The preload library, if it is in this process as well. \[UNSAFE\]

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

/// Whether it is here and records: then there is nothing left to do.
pub fn records() -> bool {
    const NAME: &CStr = c"lifetrace_process_is_recorded";
    // SAFETY: a C string; the preload library's function has this type.
    unsafe {
        NonNull::new(libc::dlsym(libc::RTLD_DEFAULT, NAME.as_ptr())).is_some_and(|found| {
            core::mem::transmute::<NonNull<c_void>, extern "C" fn() -> bool>(found)()
        })
    }
}
