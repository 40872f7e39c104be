//! What tells the blocks of one backtrace apart: size, thread, generation, sampler.
//!
//! Go's heap profiles have a sample for each size of block, so that readers can select by it. Here each
//! combination has an account of its own, which needs a second reading of the trace. There are at most
//! as many combinations as sampled blocks.

use std::sync::Arc;

use lifetrace_analysis::account::{Account, Balance, PeakNumber};
use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::estimate::Tally;
use lifetrace_analysis::history::Block;
use lifetrace_analysis::replay::{Death, Observer};
use lifetrace_trace::event::Source;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::{SamplerId, ThreadId, Timestamp};
use rustc_hash::FxHashMap;

/// Blocks that have the same labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    pub backtrace: NodeId,
    /// Of one block.
    pub bytes: u64,
    pub thread: ThreadId,
    pub source: Source,
    pub sampler: SamplerId,
}

/// How much each kind of blocks amounts to.
#[derive(Debug, Default)]
pub struct Kinds {
    /// In the order in which they were met.
    accounts: Vec<(Kind, Account)>,
    places: FxHashMap<Kind, usize>,
    live: Tally,
    peak: Tally,
    peak_number: PeakNumber,
    /// As they were called last.
    pub thread_names: FxHashMap<ThreadId, Arc<str>>,
}

impl Kinds {
    /// In the order in which they were met.
    pub fn balances(&self) -> impl Iterator<Item = (Kind, Balance)> {
        self.accounts.iter().map(|(kind, account)| (*kind, account.balance(self.peak_number)))
    }

    fn account(&mut self, block: &Block) -> &mut Account {
        let Block { backtrace, bytes, thread, source, sampler, .. } = *block;
        let kind = Kind { backtrace, bytes, thread, source, sampler };
        let place = *self.places.entry(kind).or_insert_with(|| {
            self.accounts.push((kind, Account::default()));
            self.accounts.len() - 1
        });
        &mut self.accounts[place].1
    }
}

impl Observer for Kinds {
    fn born(&mut self, block: &Block) {
        let (tally, peak) = (block.tally(), self.peak_number);
        self.account(block).allocate(&tally, peak);
        self.live += &tally;
        if self.live.exceeds(&self.peak) {
            self.peak = self.live;
            self.peak_number = self.peak_number.next();
        }
    }

    fn died(&mut self, block: &Block, death: Death) {
        let (tally, peak) = (block.tally(), self.peak_number);
        let account = self.account(block);
        account.collect(&tally, peak);
        account.lives_mut().end(block, death.time);
        self.live -= &tally;
    }

    fn survived(&mut self, block: &Block, end: Timestamp) {
        self.account(block).lives_mut().end(block, end);
    }

    fn fact(&mut self, _time: Timestamp, fact: &Fact) {
        if let Fact::ThreadName(named) = fact {
            self.thread_names.insert(named.thread, named.name.clone());
        }
    }
}
