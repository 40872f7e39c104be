//! What a managed runtime's collector has counted, into facts: a cycle when a count has changed, and now
//! and then all figures.

use lifetrace_trace::fact::{Collector, Cycle, Fact, Generation};
use lifetrace_transport::last_words::Standing;
use lifetrace_transport::message::CollectorTotals;

/// What an agent has left behind.
pub(crate) type LastTotals = (CollectorTotals, Standing);

/// Follows one runtime.
#[derive(Debug, Default)]
pub(crate) struct Collections {
    /// `None` before the first.
    last: Option<(CollectorTotals, Standing)>,
    /// Whether all of `last` is in the trace.
    is_written: bool,
}

/// The agent says something of itself at the end of a collection.
const USUALLY: Standing = Standing { is_behind: true, has_samplers_share: false };

impl Collections {
    /// Takes what the runtime says. Returns a fact for each generation of which cycles have ended.
    pub(crate) fn take(&mut self, totals: &CollectorTotals) -> impl Iterator<Item = Fact> + use<> {
        self.take_as(totals, USUALLY)
    }

    /// Takes the runtime's last figures, which it has left behind. Returns a fact for each generation of which cycles
    /// have ended.
    pub(crate) fn take_last(
        &mut self,
        (totals, standing): &LastTotals,
    ) -> impl Iterator<Item = Fact> + use<> {
        self.take_as(totals, *standing)
    }

    fn take_as(
        &mut self,
        totals: &CollectorTotals,
        standing: Standing,
    ) -> impl Iterator<Item = Fact> + use<> {
        let before = self.last.replace((*totals, standing));
        self.is_written &= before == Some((*totals, standing));
        // The first figures say where counting begins.
        let before = counts(&before.map_or(*totals, |it| it.0));
        let generations = [Generation::Minor, Generation::Major, Generation::Compaction];
        let changes = generations.into_iter().zip(before).zip(counts(totals));
        changes.filter_map(|((generation, before), now)| {
            let number = now.filter(|&now| before.is_some_and(|before| now > before))?;
            Some(Fact::Cycle(Cycle { generation, number, begins: false }))
        })
    }

    /// All figures, unless they are those that were written last.
    pub(crate) fn news(&mut self) -> Option<Fact> {
        let (totals, standing) = self.last.filter(|_| !self.is_written)?;
        self.is_written = true;
        Some(Fact::Collector(Collector {
            is_behind: standing.is_behind,
            has_samplers_share: standing.has_samplers_share,
            ..totals.figures().into()
        }))
    }

    /// Whether nothing has been written yet.
    pub(crate) fn are_new(&self) -> bool {
        self.last.is_none()
    }
}

fn counts(totals: &CollectorTotals) -> [Option<u64>; 3] {
    [totals.minor_collections, totals.major_collections, totals.compactions]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(minor: u64, major: u64, compactions: u64) -> CollectorTotals {
        CollectorTotals {
            minor_words: Some(minor * 1000),
            minor_collections: Some(minor),
            major_collections: Some(major),
            compactions: Some(compactions),
            heap_words: Some(77),
            ..CollectorTotals::default()
        }
    }

    fn cycles(collections: &mut Collections, totals: CollectorTotals) -> Vec<(Generation, u64)> {
        let facts = collections.take(&totals);
        facts
            .map(|fact| match fact {
                Fact::Cycle(Cycle { generation, number, begins: false }) => (generation, number),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn each_count_that_grows_is_a_cycle() {
        let mut it = Collections::default();
        let (minor, major) = (Generation::Minor, Generation::Major);
        assert_eq!(cycles(&mut it, totals(0, 0, 0)), []);
        assert_eq!(cycles(&mut it, totals(1, 0, 0)), [(minor, 1)]);
        assert_eq!(cycles(&mut it, totals(5, 1, 0)), [(minor, 5), (major, 1)]);
        assert_eq!(cycles(&mut it, totals(5, 1, 0)), []);
        assert_eq!(cycles(&mut it, totals(5, 2, 1)), [(major, 2), (Generation::Compaction, 1)]);
        // A count that goes back is nobody's cycle.
        assert_eq!(cycles(&mut it, totals(3, 2, 1)), []);
    }

    #[test]
    fn a_runtime_need_not_count_all() {
        let mut it = Collections::default();
        let minor_alone = |count| CollectorTotals {
            minor_collections: Some(count),
            ..CollectorTotals::default()
        };
        assert_eq!(cycles(&mut it, minor_alone(1)), []);
        assert_eq!(cycles(&mut it, minor_alone(2)), [(Generation::Minor, 2)]);
        // What is counted from now on begins now.
        assert_eq!(cycles(&mut it, totals(3, 9, 9)), [(Generation::Minor, 3)]);
        assert_eq!(cycles(&mut it, totals(3, 10, 9)), [(Generation::Major, 10)]);
    }

    #[test]
    fn figures_are_news_once() {
        let mut it = Collections::default();
        assert_eq!(it.news(), None);
        drop(it.take(&totals(3, 2, 1)));
        let Some(Fact::Collector(told)) = it.news() else { panic!("no figures") };
        let expected = [Some(3000), None, None, Some(3), Some(2), Some(1), Some(77), None];
        assert_eq!(told.figures()[..8], expected);
        assert_eq!(told.young_heap_words, None);
        drop(it.take(&totals(3, 2, 1)));
        assert_eq!(it.news(), None);
        drop(it.take(&CollectorTotals { heap_words: Some(78), ..totals(3, 2, 1) }));
        assert!(it.news().is_some());
    }
}
