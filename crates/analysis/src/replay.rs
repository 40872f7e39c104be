//! The one pass over a trace: events become lives, and observers are told of them.
//!
//! ```text
//!   Record ─→ Replay ─→ born, promoted, died ─→ Observer: accounts, histograms, time lines...
//!             └ Sampling, CallTree, History
//! ```
//!
//! A replay costs O(changed frames) an event, and holds one entry for each live sampled block and one
//! for each distinct backtrace. Observers know backtraces by their nodes; names are looked at when
//! all has been read.
//!
//! A trace may be odd: an event about an unknown block is counted, and no observer hears of it.

use std::time::Duration;

use lifetrace_trace::event::{Source, TraceInfo};
use lifetrace_trace::fact::{Fact, Held, Holder};
use lifetrace_trace::ids::{AllocationId, LocationCode, ThreadId, Timestamp};
use lifetrace_trace::record::{Birth, Record, RecordKind};

use crate::call_tree::CallTree;
use crate::history::{Block, History};
use crate::sampling::{InvalidSampling, Sampling};

/// Hears of lives, in the order of the trace.
pub trait Observer {
    /// A block was allocated.
    fn born(&mut self, _block: &Block) {}

    /// It moved to the major heap, when it says.
    fn promoted(&mut self, _block: &Block) {}

    /// It was freed, or found dead.
    fn died(&mut self, _block: &Block, _death: Death) {}

    /// The trace is over, and it still lives. Blocks are told in the order of their births.
    fn survived(&mut self, _block: &Block, _end: Timestamp) {}

    /// Of a block that was born before the trace's start, this happened. Nothing else is told of it; who does not want to know
    /// looks at what was allocated in the trace's time.
    fn earlier(&mut self, _block: &Block, _step: Earlier) {}

    /// At a look through the process's memory this pointed to it; if that was another block, `holder` is it, as far as it
    /// is known.
    fn held(&mut self, _block: &Block, _pointer: &Holder, _holder: Option<&Block>) {}

    /// Something that is beside the lives of blocks.
    fn fact(&mut self, _time: Timestamp, _fact: &Fact) {}

    /// The trace is over; what survived comes next.
    fn ended(&mut self, _end: Timestamp) {}
}

/// What happened to a block that was born before the trace's start: the trace goes on where another one ends, and tells what
/// lived then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// It lives at the start.
    Lives,
    /// As [`Observer::promoted`].
    Promoted,
    /// As [`Observer::died`].
    Died(Death),
    /// As [`Observer::survived`].
    Survived(Timestamp),
}

/// How a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    /// When.
    pub time: Timestamp,
    /// Where it was freed, or found dead.
    pub thread: ThreadId,
}

/// What a replay has come past, of blocks that were admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Allocations sampled.
    pub samples: u64,
    /// Blocks that had been sampled before the trace's start and lived then.
    pub earlier: u64,
    /// Units hit in them.
    pub hits: u64,
    /// Samples promoted.
    pub promotions: u64,
    /// Samples freed or found dead.
    pub collections: u64,
    /// Events about blocks that did not live; a sound trace has none.
    pub unmatched: u64,
    /// Facts about samplers from which nothing can be estimated; they were ignored.
    pub invalid_samplers: u64,
}

/// A trace that is being read.
#[derive(Clone, Debug)]
pub struct Replay {
    sampling: Sampling,
    tree: CallTree,
    history: History,
    counts: Counts,
    /// All there were, those that were not admitted included.
    births: u64,
    /// Then there are events of which nobody can tell whether they are odd.
    has_refused: bool,
    is_in_old_heap: bool,
    start: Timestamp,
    end: Timestamp,
}

impl Replay {
    /// Of a trace of which nothing has been read.
    ///
    /// # Errors
    /// If nothing can be estimated from such a trace.
    pub fn new(info: &TraceInfo) -> Result<Self, InvalidSampling> {
        Ok(Self {
            sampling: Sampling::new(info)?,
            tree: CallTree::default(),
            history: History::default(),
            counts: Counts::default(),
            births: 0,
            has_refused: false,
            is_in_old_heap: false,
            start: info.start_time,
            end: info.start_time,
        })
    }

    /// Of some of the trace's blocks, chosen by whatever; see [`Sampling::is_of_some`].
    pub fn choose_some(&mut self) {
        self.sampling.choose_some();
    }

    /// Looks at old heaps alone if it `is` so: blocks are born when they are promoted, or where they are born in an
    /// old heap, and what never comes to be in one is not told.
    #[must_use]
    pub fn in_old_heap(self, is: bool) -> Self {
        Self { is_in_old_heap: is, ..self }
    }

    /// Takes what comes next in the trace; a birth's `backtrace` has its outermost frame first.
    pub fn take(
        &mut self,
        record: &Record,
        backtrace: &[LocationCode],
        observer: &mut (impl Observer + ?Sized),
    ) {
        self.take_if(record, backtrace, |_, _| true, observer);
    }

    /// Takes what comes next in the trace, as [`take`](Self::take) does, as if blocks had never been that are not
    /// admitted.
    pub fn take_if(
        &mut self,
        record: &Record,
        backtrace: &[LocationCode],
        admits: impl FnMut(&Block, &CallTree) -> bool,
        observer: &mut (impl Observer + ?Sized),
    ) {
        self.end = self.end.max(record.time);
        match &record.kind {
            RecordKind::Birth(birth) => self.birth(record, birth, backtrace, admits, observer),
            RecordKind::Promotion(id) => self.promotion(*id, record.time, observer),
            RecordKind::Collection(id) => self.collection(*id, record, observer),
            RecordKind::Fact(fact) => self.fact(fact, record.time, observer),
        }
    }

    /// Says when the trace ended, if that was after what it told last, and what still lives then.
    pub fn finish(&mut self, end: Timestamp, observer: &mut (impl Observer + ?Sized)) {
        self.end = self.end.max(end);
        observer.ended(self.end);
        let mut live: Vec<_> = self.history.live().map(|(_, block)| block).collect();
        live.sort_unstable_by_key(|block| block.index);
        for block in live.into_iter().filter(|block| self.tells(block)) {
            match self.is_earlier(block) {
                true => observer.earlier(block, Earlier::Survived(self.end)),
                false => observer.survived(block, self.end),
            }
        }
    }

    /// How the trace is sampled now.
    pub fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    /// The backtraces so far.
    pub fn tree(&self) -> &CallTree {
        &self.tree
    }

    /// The blocks that live now.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What has been read.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The births that were told, those that were not admitted included.
    pub fn births(&self) -> u64 {
        self.births
    }

    /// When the trace began.
    pub fn start(&self) -> Timestamp {
        self.start
    }

    /// The latest time so far.
    pub fn end(&self) -> Timestamp {
        self.end
    }

    /// From the start of the trace to `time`.
    pub fn since_start(&self, time: Timestamp) -> Duration {
        since(self.start, time)
    }

    fn birth(
        &mut self,
        record: &Record,
        birth: &Birth,
        backtrace: &[LocationCode],
        mut admits: impl FnMut(&Block, &CallTree) -> bool,
        observer: &mut (impl Observer + ?Sized),
    ) {
        let bytes = self.sampling.bytes(birth);
        let block = Block {
            born: record.time,
            promoted: None,
            bytes,
            last_bytes: bytes,
            weight: self.sampling.weigh(birth),
            index: self.births,
            backtrace: self.tree.follow(birth.common_prefix, backtrace),
            thread: record.thread,
            domain: record.domain,
            sampler: birth.sampler,
            source: birth.source,
            is_growth: birth.is_growth,
        };
        self.births += 1;
        if !admits(&block, &self.tree) {
            self.has_refused = true;
            return;
        }
        let is_earlier = self.is_earlier(&block);
        if is_earlier {
            self.counts.earlier += 1;
        } else {
            self.counts.samples += 1;
            self.counts.hits = self.counts.hits.saturating_add(birth.samples);
        }
        if let Some(lost) = self.history.allocate(birth.id, block) {
            self.counts.unmatched += 1;
            if self.tells(&lost) {
                observer.died(&lost, Death { time: record.time, thread: record.thread });
            }
        }
        if self.tells(&block) {
            if is_earlier {
                observer.earlier(&block, Earlier::Lives)
            } else {
                observer.born(&block)
            }
        }
    }

    /// Whether it was not allocated in the trace's time.
    fn is_earlier(&self, block: &Block) -> bool {
        block.born < self.start
    }

    fn promotion(
        &mut self,
        id: AllocationId,
        time: Timestamp,
        observer: &mut (impl Observer + ?Sized),
    ) {
        match self.history.promote(id, time) {
            Some(block) => {
                self.promoted(id, &block, observer);
            }
            None => self.counts.unmatched += u64::from(!self.has_refused),
        }
    }

    fn promoted(
        &mut self,
        id: AllocationId,
        block: &Block,
        observer: &mut (impl Observer + ?Sized),
    ) {
        if !self.is_in_old_heap || block.source == Source::Major {
            let is_of_the_time = block.promoted.is_some_and(|promoted| promoted >= self.start);
            self.counts.promotions += u64::from(is_of_the_time);
            if self.is_earlier(block) {
                return observer.earlier(block, Earlier::Promoted);
            }
            observer.promoted(block);
        } else if let Some(block) = self.history.begin_at_promotion(id) {
            match self.is_earlier(&block) {
                true => observer.earlier(&block, Earlier::Lives),
                false => observer.born(&block),
            }
        }
    }

    /// Whether observers hear of it, as far as is known.
    fn tells(&self, block: &Block) -> bool {
        !self.is_in_old_heap || block.source == Source::Major || block.promoted.is_some()
    }

    fn collection(
        &mut self,
        id: AllocationId,
        record: &Record,
        observer: &mut (impl Observer + ?Sized),
    ) {
        match self.history.collect(id) {
            Some(block) => {
                self.counts.collections += 1;
                let death = Death { time: record.time, thread: record.thread };
                if self.tells(&block) && self.is_earlier(&block) {
                    observer.earlier(&block, Earlier::Died(death));
                } else if self.tells(&block) {
                    observer.died(&block, death);
                }
            }
            None => self.counts.unmatched += u64::from(!self.has_refused),
        }
    }

    fn fact(&mut self, fact: &Fact, time: Timestamp, observer: &mut (impl Observer + ?Sized)) {
        if let Fact::Sampler(sampler) = fact
            && self.sampling.set(sampler).is_err()
        {
            self.counts.invalid_samplers += 1;
        }
        if let Fact::Resize(resize) = fact {
            self.history.measure(resize.id, self.sampling.bytes_of(resize.size));
        }
        if let Fact::Notice(code) = fact {
            self.sampling.learn(code);
        }
        observer.fact(time, fact);
        if let Fact::Held(held) = fact {
            self.tell_held(held, observer);
        }
    }

    /// Of blocks that do not live, or were not admitted, nobody hears.
    fn tell_held(&self, held: &Held, observer: &mut (impl Observer + ?Sized)) {
        let holder = match held.by {
            Holder::Block(id) => self.history.get(id),
            _ => None,
        };
        let blocks = held.blocks.iter().filter_map(|&id| self.history.get(id));
        for block in blocks.filter(|block| self.tells(block)) {
            observer.held(block, &held.by, holder);
        }
    }
}

/// The time from one moment to a later one; none if it is not later.
pub fn since(start: Timestamp, time: Timestamp) -> Duration {
    Duration::from_micros(time.0.saturating_sub(start.0))
}

/// Nobody.
impl Observer for () {}

/// One after the other.
impl<A: Observer, B: Observer> Observer for (&mut A, &mut B) {
    fn born(&mut self, block: &Block) {
        self.0.born(block);
        self.1.born(block);
    }

    fn promoted(&mut self, block: &Block) {
        self.0.promoted(block);
        self.1.promoted(block);
    }

    fn died(&mut self, block: &Block, death: Death) {
        self.0.died(block, death);
        self.1.died(block, death);
    }

    fn survived(&mut self, block: &Block, end: Timestamp) {
        self.0.survived(block, end);
        self.1.survived(block, end);
    }

    fn earlier(&mut self, block: &Block, step: Earlier) {
        self.0.earlier(block, step);
        self.1.earlier(block, step);
    }

    fn held(&mut self, block: &Block, pointer: &Holder, holder: Option<&Block>) {
        self.0.held(block, pointer, holder);
        self.1.held(block, pointer, holder);
    }

    fn fact(&mut self, time: Timestamp, fact: &Fact) {
        self.0.fact(time, fact);
        self.1.fact(time, fact);
    }

    fn ended(&mut self, end: Timestamp) {
        self.0.ended(end);
        self.1.ended(end);
    }
}
