//! The counters of OCaml 5: sums over all domains. \[UNSAFE\]
//!
//! A domain counts for itself. The runtime adds the others' counts, as they were at the last collection, to the
//! caller's own, as `Gc.quick_stat` does. That takes a domain of the caller's, and a runtime that has not been
//! shut down. So they are added up at the end of each collection of the minor heap, in which the first domain always
//! takes part, and kept for the program's end.

use core::sync::atomic::{AtomicU64, Ordering};

use lifetrace_transport::message::CollectorTotals;

use crate::symbols::{Absent, Symbols, typed};
use crate::terms;

/// Words of the runtime's `struct gc_stats`, with room for what later versions add.
type Stats = [u64; 64];

/// Where the runtime has its sums.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    add_up: unsafe extern "C" fn(*mut Stats),
    minor_collections: &'static AtomicU64,
    major_cycles: &'static AtomicU64,
    compactions: &'static AtomicU64,
    /// The words of the largest minor heap that a domain has had.
    young_heap_words: &'static AtomicU64,
}

/// Minor words, promoted words, major words, words of the heap, and the most of these.
static KEPT: [AtomicU64; 5] = [const { AtomicU64::new(0) }; 5];

impl Sums {
    /// Finds the counters.
    ///
    /// # Errors
    /// If the runtime does not export all of them, as before OCaml 5.
    pub(crate) fn of(symbol: &Symbols<'_>) -> Result<Sums, Absent> {
        // SAFETY: of these types since OCaml 5.1, or words that nobody needs to write at once.
        unsafe {
            Ok(Sums {
                add_up: typed(symbol, c"caml_compute_gc_stats")?,
                minor_collections: typed(symbol, c"caml_minor_collections_count")?,
                major_cycles: typed(symbol, c"caml_major_cycles_completed")?,
                compactions: typed(symbol, c"caml_compactions_count")?,
                young_heap_words: typed(symbol, c"caml_minor_heap_max_wsz")?,
            })
        }
    }

    /// Adds up and keeps the words.
    ///
    /// # Safety
    /// The caller's thread runs for a domain, at the end of a collection; no other does this meanwhile.
    pub(crate) unsafe fn keep(&self) {
        let mut stats: Stats = [0; 64];
        // SAFETY: large enough, and by this function's contract.
        unsafe { (self.add_up)(&mut stats) };
        let [minor, promoted, major, _forced, pools, most_pools, _, _, _, large, most_large, ..] =
            stats;
        let words = [minor, promoted, major, pools + large, most_pools + most_large];
        for (kept, words) in KEPT.iter().zip(words) {
            kept.store(words, Ordering::Relaxed);
        }
    }

    /// Words as they were at the last collection, and how many collections there have been; `None` before the first.
    pub(crate) fn kept(&self) -> Option<CollectorTotals> {
        let [minor_words, promoted_words, major_words, heap_words, top_heap_words] =
            KEPT.each_ref().map(|kept| kept.load(Ordering::Relaxed));
        let young_heap_words = self.young_heap_words.load(Ordering::Relaxed);
        (minor_words > 0).then(|| CollectorTotals {
            runtime: terms::NAME,
            minor_words: Some(minor_words),
            promoted_words: Some(promoted_words),
            major_words: Some(major_words),
            minor_collections: Some(self.minor_collections.load(Ordering::Relaxed)),
            major_collections: Some(self.major_cycles.load(Ordering::Relaxed)),
            heap_words: Some(heap_words),
            top_heap_words: Some(top_heap_words),
            compactions: Some(self.compactions.load(Ordering::Relaxed)),
            young_heap_words: Some(young_heap_words).filter(|&words| words > 0),
        })
    }
}
