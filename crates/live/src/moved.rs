//! What came and went since a moment, by callsite.
//!
//! What lived at a moment and lives no more, and what was born since and lives, are different blocks, so their estimates
//! are independent: the difference of both is how much what lives has changed, and nothing that stayed as it was makes it
//! less sure. That is exact however many blocks came and went meanwhile, and costs O(1) an event.

use std::collections::VecDeque;

use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::estimate::Tally;
use lifetrace_analysis::history::Block;
use lifetrace_trace::ids::Timestamp;
use rustc_hash::FxHashMap;

use crate::sites::SiteTable;

/// Blocks that came or went since a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Those that were born since, and live.
    pub new: Tally,
    /// Those that lived then, and live no more.
    pub gone: Tally,
    /// All that were born since.
    pub allocated: Tally,
}

/// What came and went of a backtrace since it was last added to its callsite.
#[derive(Clone, Copy, Debug, Default)]
struct Fresh {
    new: Tally,
    /// Of those that were born since the moment, what died.
    brief: Tally,
    gone: Tally,
}

impl Moved {
    fn take(&mut self, fresh: &Fresh) {
        self.new += &fresh.new;
        self.new -= &fresh.brief;
        self.gone += &fresh.gone;
        self.allocated += &fresh.new;
    }
}

/// What came and went since a moment. It is kept by backtrace until somebody asks for callsites; what was added to them
/// then is not looked at again, so that asking costs as much as has happened meanwhile.
#[derive(Clone, Debug)]
pub struct Since {
    from: Timestamp,
    /// How many births were told before.
    births: u64,
    fresh: FxHashMap<NodeId, Fresh>,
    /// By the number of the callsite.
    settled: Vec<Moved>,
    total: Moved,
}

impl Since {
    /// Since then, before which so many births were told: several things may happen at one time.
    pub fn new(from: Timestamp, births: u64) -> Self {
        let (fresh, settled) = (FxHashMap::default(), Vec::new());
        Self { from, births, fresh, settled, total: Moved::default() }
    }

    /// The moment.
    pub fn from(&self) -> Timestamp {
        self.from
    }

    /// Adds what came and went to the callsites that are known.
    pub fn settle(&mut self, sites: &SiteTable) {
        self.settled.resize(sites.count(), Moved::default());
        let settled = &mut self.settled;
        self.fresh.retain(|&node, fresh| match sites.known(node) {
            Some(site) => {
                site.into_iter().for_each(|site| settled[site.index()].take(fresh));
                false
            }
            None => true,
        });
    }

    /// By callsites, by their numbers.
    pub fn moved(&self, sites: &SiteTable) -> Vec<Moved> {
        let mut sums = self.settled.clone();
        sums.resize(sites.count(), Moved::default());
        for (&node, fresh) in &self.fresh {
            sites.of(node).into_iter().for_each(|site| sums[site.index()].take(fresh));
        }
        sums
    }

    /// Of all backtraces.
    pub fn total(&self) -> &Moved {
        &self.total
    }

    /// A block is born.
    pub fn born(&mut self, block: &Block) {
        let tally = block.tally();
        self.fresh.entry(block.backtrace).or_default().new += &tally;
        self.total.new += &tally;
        self.total.allocated += &tally;
    }

    /// A block dies.
    pub fn died(&mut self, block: &Block) {
        let tally = block.tally();
        let fresh = self.fresh.entry(block.backtrace).or_default();
        if block.index >= self.births {
            fresh.brief += &tally;
            self.total.new -= &tally;
        } else {
            fresh.gone += &tally;
            self.total.gone += &tally;
        }
    }
}

/// What came and went in the last minute, or since the start: windows that begin one after the other, of which the
/// oldest is looked at. So it is up to [`APART`] longer than a minute.
#[derive(Clone, Debug)]
pub struct Windows {
    /// The oldest first.
    all: VecDeque<Since>,
}

/// Microseconds between the beginnings of two windows.
pub const APART: u64 = 20_000_000;

/// Microseconds that a window is looked at for, at least, once the trace is older.
const LENGTH: u64 = 60_000_000;

impl Windows {
    /// Of a trace that begins then.
    pub fn new(start: Timestamp) -> Self {
        Self { all: VecDeque::from([Since::new(start, 0)]) }
    }

    /// It is this time now, and so many births were told.
    pub fn pass(&mut self, now: Timestamp, births: u64) {
        let last = self.all.back().map_or(now, Since::from);
        if now.0.saturating_sub(last.0) < APART {
            return;
        }
        self.all.push_back(Since::new(now, births));
        while self.all.get(1).is_some_and(|second| now.0 - second.from().0 >= LENGTH) {
            self.all.pop_front();
        }
    }

    /// The one to look at.
    pub fn oldest(&self) -> &Since {
        self.all.front().expect("one is always there")
    }

    /// The one to look at, to be changed.
    pub fn oldest_mut(&mut self) -> &mut Since {
        self.all.front_mut().expect("one is always there")
    }

    /// All of them.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Since> {
        self.all.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use lifetrace_analysis::estimate::Weight;
    use lifetrace_trace::event::Source;
    use lifetrace_trace::ids::{DomainId, SamplerId, ThreadId};

    use super::*;

    fn block(index: u64, bytes: u64) -> Block {
        Block {
            born: Timestamp(index),
            promoted: None,
            bytes,
            last_bytes: bytes,
            weight: Weight::of_inclusion(0.5),
            index,
            backtrace: NodeId::ROOT,
            thread: ThreadId(0),
            domain: DomainId(0),
            sampler: SamplerId(0),
            source: Source::Minor,
            is_growth: false,
        }
    }

    #[test]
    fn what_came_and_went_again_leaves_nothing_but_that_it_was_allocated() {
        let mut since = Since::new(Timestamp(10), 10);
        let [old, brief, new] = [block(9, 100), block(10, 7), block(11, 20)];
        since.born(&brief);
        since.born(&new);
        since.died(&brief);
        since.died(&old);
        let bytes = |tally: &Tally| tally.amount().bytes;
        let Moved { new, gone, allocated } = *since.total();
        assert_eq!([&new, &gone, &allocated].map(|it| bytes(it).value), [40.0, 200.0, 54.0]);
        // Not that of the brief one.
        assert_eq!(bytes(&new).variance, 2.0 * 400.0);
        // Nobody knows its callsite.
        since.settle(&SiteTable::default());
        assert_eq!(since.fresh.len(), 1);
    }

    #[test]
    fn windows_are_a_minute_long_and_a_little_more() {
        let mut windows = Windows::new(Timestamp(5));
        for seconds in 0..1000 {
            let now = Timestamp(5 + seconds * 1_000_000);
            windows.pass(now, 0);
            let age = (now.0 - windows.oldest().from().0) / 1_000_000;
            assert!(if seconds < 60 { age == seconds } else { (60..=80).contains(&age) }, "{age}");
            assert!(windows.all_mut().count() <= 5);
        }
    }
}
