//! The one pass over a trace.

use std::time::Duration;

use lifetrace_trace::event::{Allocation, Event, TraceInfo};
use lifetrace_trace::ids::{AllocationId, Timestamp};
use rustc_hash::FxHashMap;

use crate::account::{Account, Balance, PeakNumber};
use crate::call_tree::{CallTree, NodeId};
use crate::callsites::{Callsites, SortBy};
use crate::estimate::{InvalidSampling, Sampling, Tally};
use crate::history::{Block, History};
use crate::names::Names;
use crate::summary::{Peak, Summary};

/// Everything that reports need to know of a trace.
#[derive(Clone, Debug)]
pub struct Profile {
    sampling: Sampling,
    start: Timestamp,
    end: Timestamp,
    tree: CallTree,
    history: History,
    accounts: FxHashMap<NodeId, Account>,
    totals: Totals,
    counts: Counts,
}

/// The whole program's amounts so far.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    allocated: Tally,
    promoted: Tally,
    live: Tally,
    /// The greatest that `live` has been; its number and time.
    peak: Tally,
    peak_number: PeakNumber,
    peak_time: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    samples: u64,
    hits: u64,
    promotions: u64,
    collections: u64,
    unmatched: u64,
}

impl Profile {
    /// A profile of a trace without events.
    ///
    /// # Errors
    /// If nothing can be estimated from such a trace.
    pub fn new(info: &TraceInfo) -> Result<Self, InvalidSampling> {
        Ok(Self {
            sampling: Sampling::new(info)?,
            start: info.start_time,
            end: info.start_time,
            tree: CallTree::default(),
            history: History::default(),
            accounts: FxHashMap::default(),
            totals: Totals::default(),
            counts: Counts::default(),
        })
    }

    /// Takes the next event of the trace.
    pub fn record(&mut self, time: Timestamp, event: &Event<'_>) {
        self.end = self.end.max(time);
        match event {
            Event::Allocation(allocation) => self.allocate(time, allocation),
            Event::Promotion(id) => self.promote(time, *id),
            Event::Collection(id) => self.collect(*id),
        }
    }

    /// Says when the trace ended, if that was after its last event.
    pub fn finish(&mut self, end: Timestamp) {
        self.end = self.end.max(end);
    }

    /// The totals.
    pub fn summary(&self) -> Summary {
        let (totals, counts) = (&self.totals, &self.counts);
        Summary {
            sampling: self.sampling,
            duration: self.since_start(self.end),
            samples: counts.samples,
            hits: counts.hits,
            promotions: counts.promotions,
            collections: counts.collections,
            unmatched: counts.unmatched,
            allocated: totals.allocated.amount(),
            promoted: totals.promoted.amount(),
            peak: Peak { amount: totals.peak.amount(), time: totals.peak_time },
            live: totals.live.amount(),
        }
    }

    /// The callsites, the greatest by `sort` first; `names` are those of the trace.
    pub fn callsites<'a, N: Names>(&self, names: &'a N, sort: SortBy) -> Callsites<'a, N> {
        let balances = self.accounts.iter().map(|(&node, account)| (node, self.balance(account)));
        Callsites::new(&self.tree, balances, names, sort)
    }

    fn allocate(&mut self, time: Timestamp, allocation: &Allocation<'_>) {
        self.counts.samples += 1;
        self.counts.hits = self.counts.hits.saturating_add(allocation.samples);
        let node = self.tree.follow(allocation.common_prefix, allocation.backtrace);
        let block = Block::new(time, allocation, node);
        if let Some(lost) = self.history.allocate(allocation.id, block) {
            self.counts.unmatched += 1;
            self.release(&lost);
        }
        let weight = self.weigh(&block);
        self.accounts.entry(node).or_default().allocate(&weight, self.totals.peak_number);
        self.totals.allocate(&weight, self.since_start(time));
    }

    fn promote(&mut self, time: Timestamp, id: AllocationId) {
        match self.history.promote(id, time) {
            Some(block) => {
                self.counts.promotions += 1;
                self.totals.promoted += &self.weigh(&block);
            }
            None => self.counts.unmatched += 1,
        }
    }

    fn collect(&mut self, id: AllocationId) {
        match self.history.collect(id) {
            Some(block) => {
                self.counts.collections += 1;
                self.release(&block);
            }
            None => self.counts.unmatched += 1,
        }
    }

    fn release(&mut self, block: &Block) {
        let weight = self.weigh(block);
        let account = self.accounts.entry(block.backtrace).or_default();
        account.collect(&weight, self.totals.peak_number);
        self.totals.live -= &weight;
    }

    fn weigh(&self, block: &Block) -> Tally {
        let weight = self.sampling.weigh(block.source, block.length);
        if block.growth { weight.without_objects() } else { weight }
    }

    fn balance(&self, account: &Account) -> Balance {
        account.balance(self.totals.peak_number)
    }

    fn since_start(&self, time: Timestamp) -> Duration {
        Duration::from_micros(time.0.saturating_sub(self.start.0))
    }
}

impl Totals {
    fn allocate(&mut self, block: &Tally, time: Duration) {
        self.allocated += block;
        self.live += block;
        if self.live.exceeds(&self.peak) {
            self.peak = self.live;
            self.peak_number = self.peak_number.next();
            self.peak_time = time;
        }
    }
}
