//! What of the runtime is needed to take Memprof's place. \[UNSAFE\]

use core::ffi::c_void;
use core::ptr::NonNull;

use super::minor_heap::MinorHeap;
use crate::descriptors::Descriptors;
use crate::symbols::{Absent, Symbols, typed};
use crate::version::Version;

/// How many functions become jumps.
pub(crate) const PLACES: usize = 9;

/// What of the runtime is needed to take its place. What each sample needs stands at the front.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Memprof {
    pub(crate) heap: MinorHeap,
    pub(crate) descriptors: Descriptors,
    /// What `caml_garbage_collection` goes on with: an allocation, or, without one, what waits to be done.
    pub(super) allocate: *const c_void,
    pub(super) poll: *const c_void,
    pub(super) invert: unsafe extern "C" fn(u64, *mut u64),
    /// The functions that become jumps; none where a version does not have it.
    pub(super) places: [Option<NonNull<u8>>; PLACES],
}

impl Memprof {
    /// Finds what is needed.
    ///
    /// # Errors
    /// If the runtime does not export all of it, or is another one than OCaml 4's.
    pub(crate) fn of(version: Version, symbol: &Symbols<'_>) -> Result<Memprof, Absent> {
        let (Some(pointer), Some(stack)) = (version.young_pointer(), version.stack_state()) else {
            return Err(Absent::Unknown);
        };
        let place = |name| symbol(name).map(NonNull::cast).ok_or(Absent::NotHere);
        // SAFETY: of these types in OCaml 4.11 to 4.14.
        unsafe {
            Ok(Memprof {
                heap: MinorHeap {
                    state: typed(symbol, c"Caml_state")?,
                    next_sample: typed(symbol, c"caml_memprof_young_trigger")?,
                    is_pending: typed(symbol, c"caml_something_to_do")?,
                    pointer: pointer as u32,
                    stack: stack as u32,
                },
                descriptors: Descriptors {
                    table: typed(symbol, c"caml_frame_descriptors")?,
                    mask: typed(symbol, c"caml_frame_descriptors_mask")?,
                },
                allocate: typed(symbol, c"caml_alloc_small_dispatch")?,
                poll: typed(symbol, c"caml_process_pending_actions")?,
                invert: typed(symbol, c"caml_invert_root")?,
                places: [
                    Some(place(c"caml_garbage_collection")?),
                    Some(place(c"caml_memprof_track_young")?),
                    Some(place(c"caml_memprof_renew_minor_sample")?),
                    Some(place(c"caml_memprof_track_alloc_shr")?),
                    place(c"caml_memprof_track_custom").ok(),
                    Some(place(c"caml_memprof_track_interned")?),
                    Some(place(c"caml_memprof_minor_update")?),
                    Some(place(c"caml_memprof_update_clean_phase")?),
                    Some(place(c"caml_memprof_invert_tracked")?),
                ],
            })
        }
    }
}
