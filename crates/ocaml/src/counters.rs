//! The collector's exact counters, of this process alone, and from the moment on at which it is heard.

use lifetrace_transport::message::CollectorTotals;

use crate::runtime::{self, Runtime};
use crate::{own, terms};

/// Where the domain's state of OCaml 4 has the size of the minor heap, as an index of words.
const YOUNG_HEAP_WORDS: usize = 10;

/// From now on what has been counted so far is left out: in a forked child what its parent has counted, and where somebody
/// has attached what came before.
pub(crate) fn begin_anew() {
    if let Some(totals) = runtime::get().filter(|it| are_readable(it)).and_then(read_all) {
        own::begin_at(&totals);
    }
}

/// Whether the counters can be read whatever the runtime has come to.
pub(crate) fn are_readable(runtime: &Runtime) -> bool {
    runtime.sums.is_some() || runtime.outlives_exit()
}

/// What the collector has counted in this process; zeros before it has counted anything.
pub(crate) fn now(runtime: &Runtime) -> CollectorTotals {
    read(runtime).unwrap_or_else(|| {
        let zeros = CollectorTotals::of_figures(terms::NAME, [Some(0); CollectorTotals::FIGURES]);
        CollectorTotals { young_heap_words: None, ..zeros }
    })
}

/// What the collector has counted in this process; `None` before it has counted anything.
pub(crate) fn read(runtime: &Runtime) -> Option<CollectorTotals> {
    read_all(runtime).as_ref().map(own::part_of)
}

/// The parent's part included, in a forked process.
fn read_all(runtime: &Runtime) -> Option<CollectorTotals> {
    match runtime.version.counters() {
        Some(counters) => read_state(runtime, counters.first),
        None => runtime.sums?.kept(),
    }
}

/// Of the domain's state.
fn read_state(runtime: &Runtime, first: usize) -> Option<CollectorTotals> {
    let word = |index| runtime.state_word(first + index);
    let double = |index| word(index).map(|bits| f64::from_bits(bits) as u64);
    Some(CollectorTotals {
        runtime: terms::NAME,
        minor_words: Some(runtime.minor_words().or_else(|| double(0))?),
        promoted_words: Some(double(1)?),
        major_words: Some(double(2)? + runtime.unaccounted_words()),
        minor_collections: Some(word(3)?),
        major_collections: Some(word(4)?),
        heap_words: Some(word(5)?),
        top_heap_words: Some(word(6)?),
        compactions: Some(word(7)?),
        young_heap_words: Some(runtime.state_word(YOUNG_HEAP_WORDS)?).filter(|&words| words > 0),
    })
}
