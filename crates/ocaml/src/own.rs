//! What the collector has counted in this process alone: a forked one's counters go on from its parent's.

use core::sync::atomic::{AtomicU64, Ordering};

use lifetrace_transport::message::CollectorTotals;

/// What the counters were at the fork; zeros if there was none.
static AT_FORK: [AtomicU64; 9] = [const { AtomicU64::new(0) }; 9];

/// The most words that the heap of a forked process was seen to have.
static MOST_HEAP: AtomicU64 = AtomicU64::new(0);

/// To be called in a forked child, with what its counters are now.
pub(crate) fn begin_at(totals: &CollectorTotals) {
    for (to, from) in AT_FORK.iter().zip(totals.words()) {
        to.store(from, Ordering::Relaxed);
    }
    MOST_HEAP.store(totals.heap_words, Ordering::Relaxed);
}

/// Without the parent's part.
pub(crate) fn part_of(totals: &CollectorTotals) -> CollectorTotals {
    let at_fork =
        CollectorTotals::of_words(AT_FORK.each_ref().map(|it| it.load(Ordering::Relaxed)));
    let most = MOST_HEAP.fetch_max(totals.heap_words, Ordering::Relaxed).max(totals.heap_words);
    without(totals, &at_fork, most)
}

/// The heap is what it is; of the most that it was, nobody tells whether it was before the fork.
fn without(totals: &CollectorTotals, at_fork: &CollectorTotals, most_seen: u64) -> CollectorTotals {
    let before = at_fork.words();
    let mut words = totals.words();
    for (word, before) in words.iter_mut().zip(before).take(6) {
        *word = word.saturating_sub(before);
    }
    let own = CollectorTotals::of_words(words);
    let is_own_top = totals.top_heap_words > at_fork.top_heap_words;
    CollectorTotals {
        top_heap_words: if is_own_top { totals.top_heap_words } else { most_seen },
        ..own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_process_has_what_came_after() {
        let parent = CollectorTotals::of_words([100, 50, 60, 5, 2, 1, 1000, 4000, 256]);
        let later = CollectorTotals::of_words([150, 70, 90, 9, 2, 1, 1500, 4000, 512]);
        let own = CollectorTotals::of_words([50, 20, 30, 4, 0, 0, 1500, 1700, 512]);
        assert_eq!(without(&later, &parent, 1700), own);
        let higher = CollectorTotals { top_heap_words: 4100, ..later };
        assert_eq!(without(&higher, &parent, 1700).top_heap_words, 4100);
        assert_eq!(without(&later, &CollectorTotals::default(), 1500), later);
    }
}
