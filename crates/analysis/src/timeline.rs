//! Live bytes over time, and whose they were.
//!
//! The time from the start to the end, which must be known, is divided into equal bins. What a
//! callsite has live at the end of a bin is the sum of its births minus its deaths up to there, so each
//! event changes one number, and there is one number for each bin of each callsite.

use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::{Bytes, Timestamp};
use rustc_hash::FxHashMap;

use crate::estimate::{Estimate, Tally};
use crate::history::Block;
use crate::replay::{Death, Earlier, Observer};
use crate::sites::{SiteId, Sites};

/// Observes live bytes.
pub struct Timeline<'s, 'a> {
    sites: &'s Sites<'a>,
    start: Timestamp,
    /// Of all bins together, in microseconds; at least 1.
    length: u64,
    bins: Vec<Bin>,
    live: Tally,
    /// Up to this bin, all have what was live then.
    reached: usize,
    /// The most that the process is known to have had resident so far.
    most_resident: Option<Bytes>,
    /// What the bytes of a callsite change by in each bin.
    changes: FxHashMap<SiteId, Vec<Change>>,
}

/// A part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// The most that was live at any moment of it.
    pub most: Estimate,
    /// What was live at its end.
    pub at_end: Estimate,
    /// The most of the process that was resident, of what the trace tells.
    pub resident: Option<Bytes>,
    /// The most words that a managed heap had from the system, likewise.
    pub heap_words: Option<u64>,
}

/// Values that are added and taken away again.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    blocks: i64,
    value: f64,
    variance: f64,
}

/// A callsite's live bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The callsite.
    pub site: SiteId,
    /// What it had at the end of each bin.
    pub at_end: Vec<Estimate>,
}

impl<'s, 'a> Timeline<'s, 'a> {
    /// With so many bins from `start` to `end`.
    ///
    /// # Panics
    /// If there is no bin.
    pub fn new(sites: &'s Sites<'a>, start: Timestamp, end: Timestamp, bins: usize) -> Self {
        assert!(bins > 0, "a time line has bins");
        Self {
            sites,
            start,
            length: end.0.saturating_sub(start.0).max(1),
            bins: vec![Bin::default(); bins],
            live: Tally::default(),
            reached: 0,
            most_resident: None,
            changes: FxHashMap::default(),
        }
    }

    /// All bins, when all has been heard.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// When a bin begins, in microseconds since the start; the one after the last is the end.
    pub fn begin(&self, bin: usize) -> u64 {
        (u128::from(self.length) * bin as u128 / self.bins.len() as u128) as u64
    }

    /// The callsites that have more than this part of the live bytes at the end of some bin, those
    /// that have the greatest part first.
    pub fn contributors(&self, least_share: f64) -> Vec<Series> {
        let series = self.changes.iter().map(|(&site, changes)| self.series(site, changes));
        let mut relevant: Vec<_> = series
            .map(|series| (self.greatest_share(&series), series))
            .filter(|&(share, _)| share >= least_share)
            .collect();
        relevant.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.site.cmp(&y.site)));
        relevant.into_iter().map(|(_, series)| series).collect()
    }

    fn series(&self, site: SiteId, changes: &[Change]) -> Series {
        let mut sum = Change::default();
        let at_end = changes.iter().map(|change| {
            sum.blocks += change.blocks;
            sum.value += change.value;
            sum.variance += change.variance;
            // What is left of what was added and taken away again is rounding.
            match sum.blocks {
                0 => Estimate::default(),
                _ => Estimate::new(sum.value.max(0.0), sum.variance.max(0.0)),
            }
        });
        Series { site, at_end: at_end.collect() }
    }

    fn greatest_share(&self, series: &Series) -> f64 {
        let most = self.bins.iter().map(|bin| bin.at_end.value).fold(0.0, f64::max);
        series.at_end.iter().map(|at_end| at_end.value).fold(0.0, f64::max) / most.max(1.0)
    }

    fn bin(&self, time: Timestamp) -> usize {
        let since = time.0.saturating_sub(self.start.0);
        let bin = u128::from(since) * self.bins.len() as u128 / u128::from(self.length);
        (bin as usize).min(self.bins.len() - 1)
    }

    /// Time has come to this bin.
    fn reach(&mut self, bin: usize) {
        while self.reached < bin {
            self.reached += 1;
            let live = self.live.amount().bytes;
            let bin = &mut self.bins[self.reached];
            (bin.most, bin.at_end) = (live, live);
        }
    }

    fn change(&mut self, block: &Block, time: Timestamp, sign: f64) {
        let bin = self.bin(time);
        self.reach(bin);
        if sign > 0.0 {
            self.live += &block.tally();
        } else {
            self.live -= &block.tally();
        }
        let live = self.live.amount().bytes;
        let place = &mut self.bins[bin];
        place.at_end = live;
        if live.value > place.most.value {
            place.most = live;
        }
        if let Some(site) = self.sites.of(block.backtrace) {
            let bins = self.bins.len();
            let changes = self.changes.entry(site);
            let Estimate { value, variance, .. } = block.weight.estimate(block.bytes as f64);
            let change = &mut changes.or_insert_with(|| vec![Change::default(); bins])[bin];
            change.blocks += sign as i64;
            change.value += sign * value;
            change.variance += sign * variance;
        }
    }
}

impl Observer for Timeline<'_, '_> {
    fn born(&mut self, block: &Block) {
        self.change(block, block.born, 1.0);
    }

    fn died(&mut self, block: &Block, death: Death) {
        self.change(block, death.time, -1.0);
    }

    fn earlier(&mut self, block: &Block, step: Earlier) {
        match step {
            Earlier::Lives => self.change(block, self.start, 1.0),
            Earlier::Died(death) => self.died(block, death),
            Earlier::Promoted | Earlier::Survived(_) => {}
        }
    }

    fn fact(&mut self, time: Timestamp, fact: &Fact) {
        if !matches!(fact, Fact::Counters(_) | Fact::Collector(_)) {
            return;
        }
        // Of a forked process a trace may tell facts before births that were earlier: time has not come to them.
        let at = self.bin(time);
        let bin = &mut self.bins[at];
        match fact {
            Fact::Counters(counters) => {
                // What has risen has risen since the last look.
                let risen = counters.most_resident.filter(|most| Some(*most) > self.most_resident);
                bin.resident = bin.resident.max(counters.resident).max(risen);
                self.most_resident = self.most_resident.max(risen);
            }
            Fact::Collector(heap) => bin.heap_words = bin.heap_words.max(heap.heap_words),
            _ => {}
        }
    }

    fn ended(&mut self, end: Timestamp) {
        let bin = self.bin(end);
        self.reach(bin);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use lifetrace_trace::event::Source;
    use lifetrace_trace::fact::Counters;
    use lifetrace_trace::ids::{DomainId, SamplerId, ThreadId};

    use super::*;
    use crate::call_tree::{CallTree, NodeId};
    use crate::estimate::Weight;
    use crate::filter::View;
    use crate::names::testing::Book;
    use crate::shape::Shaped;

    fn born(time: u64) -> Block {
        Block {
            born: Timestamp(time),
            promoted: None,
            bytes: 32,
            last_bytes: 32,
            weight: Weight::ONE,
            index: 0,
            backtrace: NodeId::ROOT,
            thread: ThreadId(0),
            domain: DomainId(0),
            sampler: SamplerId(0),
            source: Source::External,
            is_growth: false,
        }
    }

    #[test]
    fn a_fact_that_is_told_early_does_not_move_the_time_on() {
        let (book, tree) = (Book(HashMap::new()), CallTree::default());
        let sites = Sites::new(Shaped::new(&tree, &book, &View::default()));
        let mut timeline = Timeline::new(&sites, Timestamp(0), Timestamp(100), 10);
        let counters = Counters { resident: Some(Bytes(7)), ..Counters::default() };
        timeline.fact(Timestamp(55), &Fact::Counters(counters));
        timeline.born(&born(20));
        timeline.ended(Timestamp(100));
        let at_end: Vec<_> = timeline.bins().iter().map(|bin| bin.at_end.value).collect();
        assert_eq!(at_end, [0.0, 0.0, 32.0, 32.0, 32.0, 32.0, 32.0, 32.0, 32.0, 32.0]);
        assert!(timeline.bins()[2..].iter().all(|bin| bin.most.value == 32.0));
        assert_eq!(timeline.bins()[5].resident, Some(Bytes(7)));
    }
}
