//! What the machine exports, by name. \[UNSAFE\]

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;

use lifetrace_agent::loader;

/// A reference to an object, or an immediate.
pub(crate) type Value = usize;

/// A function, or the place of a variable, of that name.
///
/// # Safety
/// `T` is its type: that of a function, or that of a pointer to a variable.
pub(crate) unsafe fn function<T: Copy>(name: &CStr) -> Option<T> {
    const { assert!(size_of::<T>() == size_of::<NonNull<c_void>>()) };
    let found = loader::symbol(name)?;
    // SAFETY: by contract; the sizes are equal.
    Some(unsafe { core::mem::transmute_copy(&found) })
}
