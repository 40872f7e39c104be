//! What the runtime's functions and variables are found by. \[UNSAFE\]

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;

use lifetrace_agent::loader;

/// What finds a runtime's functions and variables, for as long as the process lives.
pub(crate) type Finder = fn(&CStr) -> Option<NonNull<c_void>>;

/// The address of what has a name.
pub(crate) type Symbols<'a> = dyn Fn(&CStr) -> Option<NonNull<c_void>> + 'a;

/// Why no runtime was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    /// No native OCaml runtime, or not initialised.
    NotHere,
    /// One that cannot be sampled.
    Unknown,
}

/// Whether the process exports `name`.
pub(crate) fn exports(name: &CStr) -> bool {
    symbol(name).is_some()
}

/// The address of what the process exports by this name.
pub(crate) fn symbol(name: &CStr) -> Option<NonNull<c_void>> {
    loader::symbol(name)
}

/// A function or variable, whose type the caller knows.
///
/// # Safety
/// `T` is a pointer or a function pointer of that type.
pub(crate) unsafe fn typed<T: Copy>(symbol: &Symbols<'_>, name: &CStr) -> Result<T, Absent> {
    const { assert!(size_of::<T>() == size_of::<NonNull<c_void>>()) };
    let found = symbol(name).ok_or(Absent::NotHere)?;
    // SAFETY: by contract; the sizes are equal.
    Ok(unsafe { core::mem::transmute_copy(&found) })
}
