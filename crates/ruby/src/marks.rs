//! What a collection has marked. \[UNSAFE\]

use core::ffi::CStr;

use crate::symbols::{Value, function};

/// An identifier of the machine's.
type Id = usize;

/// How to ask whether an object is marked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Marks {
    /// Up to 3.3.
    Function(unsafe extern "C" fn(Value) -> i32),
    /// In 3.4: among the flags that the collector names. Makes nothing after it has been called once.
    Flags(unsafe extern "C" fn(Value, *mut Id, usize) -> usize, Id),
}

/// More flags than the collector has.
const MOST_FLAGS: usize = 16;

impl Marks {
    /// `None` if neither is there. `intern` is `rb_intern`.
    ///
    /// # Safety
    /// The machine is set up, and its lock the caller's.
    pub(crate) unsafe fn find(
        intern: unsafe extern "C" fn(*const core::ffi::c_char) -> Id,
    ) -> Option<Marks> {
        const MARKED: &CStr = c"marked";
        // SAFETY: of these types, as the machine's sources have them since 2.7; a string.
        unsafe {
            if let Some(is_marked) = function(c"rb_objspace_marked_object_p") {
                return Some(Marks::Function(is_marked));
            }
            Some(Marks::Flags(function(c"rb_obj_gc_flags")?, intern(MARKED.as_ptr())))
        }
    }

    /// Whether the collection that has just marked has found the object alive.
    ///
    /// # Safety
    /// At the end of a collection's marking, an object that the last one left alive, or that came since; or, to have the machine make what it needs at the first time, the
    /// object is alive, and the machine's lock is the caller's outside of hooks.
    pub(crate) unsafe fn has(self, object: Value) -> bool {
        match self {
            // SAFETY: by contract.
            Marks::Function(is_marked) => unsafe { is_marked(object) != 0 },
            Marks::Flags(flags, marked) => {
                let mut found = [0; MOST_FLAGS];
                // SAFETY: by contract; so many have room.
                let count = unsafe { flags(object, found.as_mut_ptr(), MOST_FLAGS) };
                found[..count.min(MOST_FLAGS)].contains(&marked)
            }
        }
    }
}
