//! How much each backtrace, and the whole trace, allocated and held.

use std::time::Duration;

use lifetrace_trace::event::{Event, Source, TraceInfo};
use lifetrace_trace::ids::{DomainId, LocationCode, ThreadId, Timestamp};
use lifetrace_trace::record::{Record, RecordKind};

use crate::account::{Account, Balance, PeakNumber};
use crate::call_tree::{CallTree, NodeId};
use crate::callsites::Callsites;
use crate::estimate::{Estimate, Tally};
use crate::filter::View;
use crate::history::Block;
use crate::metric::Metric;
use crate::names::Names;
use crate::replay::{Death, Earlier, Observer, Replay, since};
use crate::sampling::InvalidSampling;
use crate::shape::Shaped;
use crate::sites::Sites;
use crate::summary::{Peak, Summary};

/// Everything that most reports need to know of a trace.
#[derive(Clone, Debug)]
pub struct Profile {
    replay: Replay,
    ledger: Ledger,
}

/// The accounts of a trace.
#[derive(Clone, Debug)]
struct Ledger {
    /// Of the trace.
    start: Timestamp,
    /// Those of the backtraces that have one, and which backtrace has which.
    accounts: Vec<(NodeId, Account)>,
    places: Vec<Option<u32>>,
    totals: Totals,
}

/// The whole program's amounts so far.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    allocated: Tally,
    /// Of it, what is in no collected heap.
    outside: Tally,
    promoted: Tally,
    live: Tally,
    /// What of it no collection of the young heap has met.
    young: Tally,
    /// What was young at the peak.
    young_at_peak: Tally,
    /// The greatest that `live` has been; its number and time.
    peak: Tally,
    peak_number: PeakNumber,
    peak_time: Option<Timestamp>,
}

impl Profile {
    /// A profile of a trace without events.
    ///
    /// # Errors
    /// If nothing can be estimated from such a trace.
    pub fn new(info: &TraceInfo) -> Result<Self, InvalidSampling> {
        let ledger = Ledger {
            start: info.start_time,
            accounts: Vec::new(),
            places: Vec::new(),
            totals: Totals::default(),
        };
        Ok(Self { replay: Replay::new(info)?, ledger })
    }

    /// Of old heaps alone, if it `is` so; see [`Replay::in_old_heap`].
    #[must_use]
    pub fn in_old_heap(self, is: bool) -> Self {
        Self { replay: self.replay.in_old_heap(is), ..self }
    }

    /// Says that only some of the blocks are looked at, by choice.
    pub fn choose_some(&mut self) {
        self.replay.choose_some();
    }

    /// Takes what comes next in the trace; a birth's `backtrace` has its outermost frame first.
    pub fn take(&mut self, record: &Record, backtrace: &[LocationCode]) {
        self.replay.take(record, backtrace, &mut self.ledger);
    }

    /// Takes an event of a trace that knows of one thread only.
    pub fn record(&mut self, time: Timestamp, event: &Event<'_>) {
        let (thread, domain, kind) = (ThreadId(0), DomainId(0), RecordKind::from(event));
        let backtrace = match event {
            Event::Allocation(allocation) => allocation.backtrace,
            Event::Promotion(_) | Event::Collection(_) => &[],
        };
        self.take(&Record { time, thread, domain, kind }, backtrace);
    }

    /// Takes what comes next in the trace, as [`take`](Self::take) does, as if blocks had never been that are not
    /// admitted.
    pub fn take_if(
        &mut self,
        record: &Record,
        backtrace: &[LocationCode],
        admits: impl FnMut(&Block, &CallTree) -> bool,
    ) {
        self.replay.take_if(record, backtrace, admits, &mut self.ledger);
    }

    /// Takes what comes next, as [`take_if`](Self::take_if) does, and tells an observer of it as well.
    pub fn take_beside(
        &mut self,
        record: &Record,
        backtrace: &[LocationCode],
        admits: impl FnMut(&Block, &CallTree) -> bool,
        observer: &mut impl Observer,
    ) {
        self.replay.take_if(record, backtrace, admits, &mut (&mut self.ledger, observer));
    }

    /// Says when the trace ended, if that was after its last event.
    pub fn finish(&mut self, end: Timestamp) {
        self.replay.finish(end, &mut self.ledger);
    }

    /// What has been read.
    pub fn replay(&self) -> &Replay {
        &self.replay
    }

    /// The totals.
    pub fn summary(&self) -> Summary {
        let (totals, counts) = (&self.ledger.totals, self.replay.counts());
        let start = self.replay.start();
        Summary {
            sampling: self.replay.sampling().clone(),
            duration: since(start, self.replay.end()),
            samples: counts.samples,
            hits: counts.hits,
            promotions: counts.promotions,
            collections: counts.collections,
            unmatched: counts.unmatched,
            allocated: totals.allocated.amount(),
            outside: totals.outside.amount(),
            promoted: totals.promoted.amount(),
            peak: Peak {
                amount: totals.peak.amount(),
                young: totals.young_at_peak.amount(),
                time: totals.peak_time.map_or(Duration::ZERO, |time| since(start, time)),
            },
            live: totals.live.amount(),
            young: totals.young.amount(),
        }
    }

    /// Bytes that live now.
    pub fn live_bytes(&self) -> Estimate {
        self.ledger.totals.live.amount().bytes
    }

    /// When most bytes lived, for the first time; the start if none ever did.
    pub fn peak_time(&self) -> Timestamp {
        self.ledger.totals.peak_time.unwrap_or(self.replay.start())
    }

    /// All backtraces.
    pub fn tree(&self) -> &CallTree {
        self.replay.tree()
    }

    /// What each backtrace has that was met, in the order in which they were.
    pub fn balances(&self) -> impl Iterator<Item = (NodeId, Balance)> {
        let last_peak = self.ledger.totals.peak_number;
        self.ledger.accounts.iter().map(move |(node, account)| (*node, account.balance(last_peak)))
    }

    /// The callsites, the greatest by `metric` first; `names` are those of the trace.
    pub fn callsites<'a>(
        &self,
        names: &'a impl Names,
        view: &View,
        metric: Metric,
    ) -> Callsites<'a> {
        let sites = Sites::new(Shaped::new(self.tree(), names, view));
        Callsites::new(sites, self.balances(), metric)
    }
}

impl Ledger {
    fn account(&mut self, node: NodeId) -> &mut Account {
        let index = node.index();
        if index >= self.places.len() {
            self.places.resize(index + 1, None);
        }
        let place = self.places[index].get_or_insert_with(|| {
            self.accounts.push((node, Account::default()));
            u32::try_from(self.accounts.len() - 1).expect("no more than nodes")
        });
        &mut self.accounts[*place as usize].1
    }
}

impl Observer for Ledger {
    fn born(&mut self, block: &Block) {
        let (tally, peak) = (block.tally(), self.totals.peak_number);
        self.account(block.backtrace).allocate(&tally, peak);
        if block.source == Source::External {
            self.totals.outside += &tally;
        }
        self.totals.allocate(&tally, block);
    }

    fn promoted(&mut self, block: &Block) {
        self.totals.grow_old(block);
        // Of memory outside the heap it is the block that stands for it that moves.
        if block.source != Source::External {
            self.totals.promoted += &block.tally();
        }
    }

    fn died(&mut self, block: &Block, death: Death) {
        let (tally, peak) = (block.tally(), self.totals.peak_number);
        let account = self.account(block.backtrace);
        account.collect(&tally, peak);
        account.lives_mut().end(block, death.time);
        self.totals.collect(&tally, block);
    }

    fn survived(&mut self, block: &Block, end: Timestamp) {
        self.account(block.backtrace).lives_mut().end(block, end);
    }

    /// It is among what lives, and not among what was allocated, nor is how long it lived.
    fn earlier(&mut self, block: &Block, step: Earlier) {
        let (tally, peak) = (block.tally(), self.totals.peak_number);
        match step {
            Earlier::Lives => {
                self.account(block.backtrace).inherit(&tally, peak);
                self.totals.add_live(&tally, block, self.start);
            }
            Earlier::Promoted if block.promoted >= Some(self.start) => self.promoted(block),
            Earlier::Promoted => self.totals.grow_old(block),
            Earlier::Died(_) => {
                self.account(block.backtrace).collect(&tally, peak);
                self.totals.collect(&tally, block);
            }
            Earlier::Survived(_) => {}
        }
    }
}

impl Totals {
    fn allocate(&mut self, tally: &Tally, block: &Block) {
        self.allocated += tally;
        self.add_live(tally, block, block.born);
    }

    /// It is told of as it is after its promotion.
    fn grow_old(&mut self, block: &Block) {
        if block.source == Source::Minor {
            self.young -= &block.tally();
        }
    }

    fn collect(&mut self, tally: &Tally, block: &Block) {
        self.live -= tally;
        if is_young(block) {
            self.young -= tally;
        }
    }

    fn add_live(&mut self, tally: &Tally, block: &Block, time: Timestamp) {
        self.live += tally;
        if is_young(block) {
            self.young += tally;
        }
        if self.live.exceeds(&self.peak) {
            self.peak = self.live;
            self.young_at_peak = self.young;
            self.peak_number = self.peak_number.next();
            self.peak_time = Some(time);
        }
    }
}

/// Whether it is in a young heap, where nobody knows that it has died before a collection.
fn is_young(block: &Block) -> bool {
    block.source == Source::Minor && block.promoted.is_none()
}
