//! The machine's strings, as bytes. \[UNSAFE\]

use core::ffi::{CStr, c_char};

use crate::symbols::{Value, function};

/// How to have a string's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texts {
    string: unsafe extern "C" fn(*mut Value) -> *const c_char,
    nil: Value,
}

impl Texts {
    /// `None` if the function is missing. `nil` is the machine's.
    pub(crate) fn find(nil: Value) -> Option<Texts> {
        // SAFETY: of that type in all versions.
        Some(Texts { string: unsafe { function(c"rb_string_value_ptr") }?, nil })
    }

    /// The bytes of one; none of nil. To be used before the machine does anything.
    ///
    /// # Safety
    /// A string, or nil.
    pub(crate) unsafe fn bytes(&self, mut value: Value) -> Option<&'static [u8]> {
        if value == 0 || value == self.nil {
            return None;
        }
        // SAFETY: by contract. Labels and paths end with a zero byte, as all strings of their own do.
        unsafe { Some(CStr::from_ptr((self.string)(&raw mut value)).to_bytes()) }
    }
}
