//! What the kernel tells a process at its start. \[UNSAFE\]

use core::ffi::c_ulong;
use core::sync::atomic::{AtomicU64, Ordering};

/// What the kernel has told the process at its start under this number; `None` if nothing. libc is asked once.
pub fn auxiliary(number: c_ulong) -> Option<u64> {
    const NUMBERS: usize = 64;
    static KNOWN: [AtomicU64; NUMBERS] = [const { AtomicU64::new(0) }; NUMBERS];
    let place = KNOWN.get(number as usize)?;
    if place.load(Ordering::Relaxed) == 0 {
        // SAFETY: libc looks into an array of its own.
        place.store(unsafe { libc::getauxval(number) }, Ordering::Relaxed);
    }
    Some(place.load(Ordering::Relaxed)).filter(|value| *value != 0)
}
