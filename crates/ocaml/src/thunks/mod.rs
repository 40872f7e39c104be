//! From OCaml's calling convention to C's: the code of the five closures; and from C to C on a stack of our
//! own. \[UNSAFE\]
//!
//! Under OCaml 4 a thunk moves to the agent's [`stack`](crate::stack) and calls. The runtime's state stays
//! in registers that C preserves; OCaml expects nothing else of a call. Under OCaml 5 it leaves the
//! fiber's stack as any call of C does, by `caml_c_call`, to which it jumps: so there is no frame of ours
//! for which the collector would want a descriptor.

use core::sync::atomic::AtomicUsize;

use crate::callbacks::{allocated_major, allocated_minor, freed, promoted};
use crate::memprof::births::{
    collect_garbage, renew_minor_sample, sample_here, sample_on_own_stack, track_custom,
    track_interned, track_major, track_young,
};
use crate::memprof::fates::{inverted, marked, minor_collected};
use crate::version::Version;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64::{thunk_4, thunk_5, thunk_memprof, thunk_onward};
#[cfg(target_arch = "x86_64")]
use x86_64::{thunk_4, thunk_5, thunk_memprof, thunk_onward};

/// The address of `caml_c_call`, for OCaml 5.
pub(crate) static C_CALL: AtomicUsize = AtomicUsize::new(0);

/// A thunk's code.
// SAFETY: only its address is used; it is called by the runtime, with its convention.
pub(crate) type Code = unsafe extern "C" fn();

thunk_4!(minor_4, allocated_minor);
thunk_4!(major_4, allocated_major);
thunk_4!(promoted_4, promoted);
thunk_4!(freed_4, freed);
thunk_onward!(collect_garbage_4, collect_garbage, sample_here);
thunk_memprof!(sample_4, sample_on_own_stack);
thunk_memprof!(track_young_4, track_young);
thunk_memprof!(renew_minor_sample_4, renew_minor_sample);
thunk_memprof!(track_major_4, track_major);
thunk_memprof!(track_custom_4, track_custom);
thunk_memprof!(track_interned_4, track_interned);
thunk_memprof!(minor_collected_4, minor_collected);
thunk_memprof!(marked_4, marked);
thunk_memprof!(inverted_4, inverted);
thunk_5!(minor_5, allocated_minor);
thunk_5!(major_5, allocated_major);
thunk_5!(promoted_5, promoted);
thunk_5!(freed_5, freed);

/// Calls [`sample_on_own_stack`].
pub(crate) const SAMPLE_ON_OWN_STACK: Code = sample_4;

/// The code in the place of the runtime's functions, under OCaml 4, in [`memprof`](crate::memprof)'s order.
pub(crate) const MEMPROF: [Code; 9] = [
    collect_garbage_4,
    track_young_4,
    renew_minor_sample_4,
    track_major_4,
    track_custom_4,
    track_interned_4,
    minor_collected_4,
    marked_4,
    inverted_4,
];

/// The code for a tracker's callbacks, in its order: minor and major allocation, promotion, death in
/// the minor and in the major heap. `None` where there is none yet.
pub(crate) fn of(version: Version) -> Option<[Code; 5]> {
    if !version.has_fibers() {
        return Some([minor_4, major_4, promoted_4, freed_4, freed_4]);
    }
    cfg!(target_arch = "x86_64").then_some([minor_5, major_5, promoted_5, freed_5, freed_5])
}
