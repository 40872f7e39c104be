//! What the collector has counted in this process alone: a forked one's counters go on from its parent's.

use core::sync::atomic::{AtomicU64, Ordering};

use lifetrace_transport::message::CollectorTotals;

type Figures = [Option<u64>; CollectorTotals::FIGURES];

/// How many of the figures are counted up; the others are what the heap is.
const COUNTED: usize = 6;
/// Where in the figures the most words are that the heap has had.
const TOP: usize = 7;

/// What the counters were at the fork; zeros if there was none.
static AT_FORK: [AtomicU64; CollectorTotals::FIGURES] =
    [const { AtomicU64::new(0) }; CollectorTotals::FIGURES];

/// The most words that the heap of a forked process was seen to have.
static MOST_HEAP: AtomicU64 = AtomicU64::new(0);

/// To be called in a forked child, or where a process is heard from now on, with what its counters are now.
pub(crate) fn begin_at(totals: &CollectorTotals) {
    for (to, from) in AT_FORK.iter().zip(totals.figures()) {
        to.store(from.unwrap_or(0), Ordering::Relaxed);
    }
    MOST_HEAP.store(totals.heap_words.unwrap_or(0), Ordering::Relaxed);
}

/// Without the parent's part.
pub(crate) fn part_of(totals: &CollectorTotals) -> CollectorTotals {
    let at_fork = AT_FORK.each_ref().map(|it| it.load(Ordering::Relaxed));
    let heap = totals.heap_words.unwrap_or(0);
    let most = MOST_HEAP.fetch_max(heap, Ordering::Relaxed).max(heap);
    CollectorTotals::of_figures(totals.runtime, without(totals.figures(), &at_fork, most))
}

/// The heap is what it is; of the most that it was, nobody tells whether it was before the fork.
fn without(
    mut figures: Figures,
    at_fork: &[u64; CollectorTotals::FIGURES],
    most_seen: u64,
) -> Figures {
    for (figure, before) in figures.iter_mut().zip(at_fork).take(COUNTED) {
        *figure = figure.map(|count| count.saturating_sub(*before));
    }
    let is_own_top = |top: u64| top > at_fork[TOP];
    figures[TOP] = figures[TOP].map(|top| if is_own_top(top) { top } else { most_seen });
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_process_has_what_came_after() {
        let parent = [100, 50, 60, 5, 2, 1, 1000, 4000, 256];
        let later = [150, 70, 90, 9, 2, 1, 1500, 4000, 512].map(Some);
        let own = [50, 20, 30, 4, 0, 0, 1500, 1700, 512].map(Some);
        assert_eq!(without(later, &parent, 1700), own);
        let mut higher = later;
        higher[TOP] = Some(4100);
        assert_eq!(without(higher, &parent, 1700)[TOP], Some(4100));
        assert_eq!(without(later, &[0; 9], 1500), later);
    }

    #[test]
    fn what_is_not_known_stays_unknown() {
        let mut later = [Some(150); 9];
        (later[0], later[TOP]) = (None, None);
        let own = without(later, &[100; 9], 0);
        assert_eq!((own[0], own[1], own[TOP]), (None, Some(50), None));
    }
}
