//! What a thread executes, as the machine keeps it. \[UNSAFE\]

use core::ffi::{c_char, c_void};

use lifetrace_agent::tls;

use crate::symbols::function;

/// Where a thread has the address of what it executes: `ruby_current_ec`, from the thread's pointer on. Exported up to
/// 3.2, whose functions for profilers do not look whether there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current(usize);

impl Current {
    /// `None` if it is not exported. To be called by a thread that executes something.
    pub(crate) fn find() -> Option<Current> {
        type Look = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
        // SAFETY: dlsym's type. It is not imported by name, since its version differs between C libraries.
        let look: Look = unsafe { function(c"dlsym") }?;
        // SAFETY: of a thread-local variable it gives this thread's; outside of malloc. Null is all modules.
        let look = || unsafe { look(core::ptr::null_mut(), c"ruby_current_ec".as_ptr()) };
        let address = tls::aside(look);
        let offset = (address as usize).wrapping_sub(tls::identity());
        (!address.is_null()).then_some(Current(offset))
    }

    /// Whether this thread has frames.
    pub(crate) fn has_frames(self) -> bool {
        /// The index of the word that points to the frames.
        const FRAMES: usize = 2;
        let place = tls::identity().wrapping_add(self.0) as *const *const usize;
        // SAFETY: a variable of a library that was there at the start, in each thread at the same distance from the
        // thread's pointer; and, if it is not null, what it points to has that word.
        unsafe {
            let executes = place.read();
            !executes.is_null() && executes.add(FRAMES).read() != 0
        }
    }
}
