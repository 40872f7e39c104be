//! Garbage collections, and how many of them the blocks of each callsite survived.
//!
//! A block survives a collection if that began in its life and did not find it dead. Survivals of
//! which the trace tells the begin only, or the end only, are known by that.
//!
//! The collection that found a block dead is the last that began before that is told: in the young heap
//! it is the next minor collection after its birth, in the old heap a major one. Blocks outside any
//! collected heap have no part in this.
//!
//! Collections of which only numbers are told, by those before and after, have passed as well.

use std::ops::AddAssign;

use lifetrace_trace::event::Source;
use lifetrace_trace::fact::{Collector, Counters, Cycle, Fact, Generation};
use lifetrace_trace::ids::Timestamp;
use rustc_hash::FxHashMap;

use crate::call_tree::NodeId;
use crate::cycles::{Counter, is_young};
use crate::estimate::{Estimate, Tally};
use crate::history::Block;
use crate::replay::{Death, Observer};

/// All generations, the youngest first.
pub const GENERATIONS: [Generation; 3] =
    [Generation::Minor, Generation::Major, Generation::Compaction];

/// Observes collections, and what becomes of blocks in them.
#[derive(Clone, Debug, Default)]
pub struct Survivals {
    generations: [Series; GENERATIONS.len()],
    counters: Vec<(Timestamp, Counters)>,
    collector: Vec<(Timestamp, Collector)>,
    /// How many had begun when live blocks were born.
    births: FxHashMap<u64, [u64; 2]>,
    nodes: FxHashMap<NodeId, Sums>,
}

/// The collections of one generation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// When each began, or ended where no begin is told, in order.
    pub times: Vec<Timestamp>,
    /// How many had passed at each of these times since the one before: 1, if all are told.
    pub passed: Vec<u64>,
    /// Microseconds from begin to end of those of which both are told.
    pub durations: Vec<u64>,
    /// The first and last number that the runtime gave.
    pub numbers: Option<(u64, u64)>,
    /// Begun, and not ended.
    running: Option<(u64, Timestamp)>,
    counter: Counter,
    count: u64,
}

/// What became of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// All of them.
    pub allocated: Tally,
    /// Those that were born in the old heap.
    pub born_old: Tally,
    /// Those that moved there.
    pub promoted: Tally,
    /// Those that were found dead, or freed.
    pub collected: Tally,
    /// Those that live in the young heap at the end.
    pub young: Tally,
    /// Those that live in the old heap at the end.
    pub old: Tally,
    /// Minor and major collections that blocks survived, summed over the blocks.
    pub survived: [Estimate; 2],
    /// The most that one of them survived.
    pub most_survived: [u64; 2],
}

impl Survivals {
    /// Of each of [`GENERATIONS`].
    pub fn series(&self) -> &[Series; GENERATIONS.len()] {
        &self.generations
    }

    /// Whether the trace tells of any.
    pub fn is_told(&self) -> bool {
        self.generations.iter().any(|series| !series.times.is_empty())
    }

    /// The exact figures that the trace has of the process, in order.
    pub fn counters(&self) -> &[(Timestamp, Counters)] {
        &self.counters
    }

    /// Those of a managed heap, in order.
    pub fn collector(&self) -> &[(Timestamp, Collector)] {
        &self.collector
    }

    /// By backtrace, in no particular order.
    pub fn found(&self) -> impl Iterator<Item = (NodeId, Sums)> {
        self.nodes.iter().map(|(&node, &sums)| (node, sums))
    }

    /// Of all backtraces.
    pub fn total(&self) -> Sums {
        let mut total = Sums::default();
        self.nodes.values().for_each(|sums| total += sums);
        total
    }

    fn begun(&self) -> [u64; 2] {
        [0, 1].map(|generation| self.generations[generation].count)
    }

    /// What is known of a block's backtrace, if the block is in a collected heap.
    fn sums(&mut self, block: &Block) -> Option<&mut Sums> {
        let is_collected = block.source != Source::External;
        is_collected.then(|| self.nodes.entry(block.backtrace).or_default())
    }

    /// The collections that a block has survived; `found` is the generation whose collection found it
    /// dead, if one did.
    fn end(&mut self, block: &Block, found: Option<usize>) {
        let Some(births) = self.births.remove(&block.index) else { return };
        let begun = self.begun();
        let running = [0, 1].map(|generation| self.generations[generation].running.is_some());
        let is_sparse = self.generations[0].counter.is_sparse();
        let Some(sums) = self.sums(block) else { return };
        for generation in [0, 1] {
            let is_over = found != Some(generation) && !running[generation];
            let since = begun[generation] - births[generation];
            let count = match found {
                // The first one would have promoted it.
                Some(0) if generation == 0 && is_sparse => 0,
                _ => since.saturating_sub(u64::from(!is_over)),
            };
            sums.survived[generation] += block.weight.estimate(count as f64);
            sums.most_survived[generation] = sums.most_survived[generation].max(count);
        }
    }
}

impl Series {
    pub(crate) fn take(&mut self, time: Timestamp, cycle: &Cycle) {
        let first = self.numbers.map_or(cycle.number, |(first, _)| first);
        self.numbers = Some((first, cycle.number));
        let Cycle { number, begins, .. } = *cycle;
        let passed = self.counter.take(cycle);
        if passed > 0 {
            self.times.push(time);
            self.passed.push(passed);
            self.count = self.count.saturating_add(passed);
        }
        if begins {
            self.running = Some((number, time));
        } else if let Some((running, begin)) = self.running.take()
            && running == number
        {
            self.durations.push(time.0.saturating_sub(begin.0));
        }
    }

    /// All that have passed.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl Observer for Survivals {
    fn born(&mut self, block: &Block) {
        let begun = self.begun();
        let Some(sums) = self.sums(block) else { return };
        sums.allocated += &block.tally();
        if block.source == Source::Major {
            sums.born_old += &block.tally();
        }
        self.births.insert(block.index, begun);
    }

    fn promoted(&mut self, block: &Block) {
        if let Some(sums) = self.sums(block) {
            sums.promoted += &block.tally();
        }
    }

    fn died(&mut self, block: &Block, _death: Death) {
        let Some(sums) = self.sums(block) else { return };
        sums.collected += &block.tally();
        self.end(block, Some(usize::from(!is_young(block))));
    }

    fn survived(&mut self, block: &Block, _end: Timestamp) {
        let Some(sums) = self.sums(block) else { return };
        let live = if is_young(block) { &mut sums.young } else { &mut sums.old };
        *live += &block.tally();
        self.end(block, None);
    }

    fn fact(&mut self, time: Timestamp, fact: &Fact) {
        match fact {
            Fact::Cycle(cycle) => {
                let generation = GENERATIONS.iter().position(|it| *it == cycle.generation);
                if let Some(generation) = generation {
                    self.generations[generation].take(time, cycle);
                }
            }
            Fact::Counters(counters) => self.counters.push((time, *counters)),
            Fact::Collector(collector) => {
                self.collector.push((time, *collector));
                let ended = [
                    collector.minor_collections,
                    collector.major_collections,
                    collector.compactions,
                ];
                for (series, ended) in self.generations.iter_mut().zip(ended) {
                    ended.inspect(|&ended| series.counter.begin_at(ended));
                }
            }
            _ => {}
        }
    }
}

impl Sums {
    /// The mean number of minor and major collections that a block survived; nothing without blocks.
    pub fn mean_survived(&self) -> Option<[f64; 2]> {
        let objects = self.allocated.amount().objects.value;
        (objects > 0.0).then(|| self.survived.map(|survived| survived.value / objects))
    }
}

impl AddAssign<&Sums> for Sums {
    fn add_assign(&mut self, other: &Sums) {
        self.allocated += &other.allocated;
        self.born_old += &other.born_old;
        self.promoted += &other.promoted;
        self.collected += &other.collected;
        self.young += &other.young;
        self.old += &other.old;
        for generation in [0, 1] {
            self.survived[generation] += other.survived[generation];
            let most = &mut self.most_survived[generation];
            *most = (*most).max(other.most_survived[generation]);
        }
    }
}

#[cfg(test)]
mod tests {
    use lifetrace_trace::event::{Allocation, Event, TraceInfo};
    use lifetrace_trace::ids::{AllocationId, DomainId, LocationCode, ThreadId, Words};
    use lifetrace_trace::record::{Record, RecordKind};

    use super::*;
    use crate::Replay;

    fn birth(id: u64, source: Source) -> RecordKind {
        RecordKind::from(&Event::Allocation(Allocation {
            id: AllocationId(id),
            length: Words(1),
            samples: 1,
            source,
            domain: DomainId(0),
            backtrace: &[LocationCode(1)],
            common_prefix: 0,
        }))
    }

    fn young(id: u64) -> RecordKind {
        birth(id, Source::Minor)
    }

    fn promotion(id: u64) -> RecordKind {
        RecordKind::Promotion(AllocationId(id))
    }

    fn death(id: u64) -> RecordKind {
        RecordKind::Collection(AllocationId(id))
    }

    fn step(generation: Generation, number: u64, begins: bool) -> RecordKind {
        RecordKind::from(Fact::Cycle(Cycle { generation, number, begins }))
    }

    fn begin(generation: Generation, number: u64) -> RecordKind {
        step(generation, number, true)
    }

    fn end(generation: Generation, number: u64) -> RecordKind {
        step(generation, number, false)
    }

    /// Each thing a microsecond after the one before.
    fn observed(story: impl IntoIterator<Item = RecordKind>) -> Survivals {
        let info = TraceInfo {
            sample_rate: 1.0,
            word_bits: 64,
            executable_name: String::new(),
            host_name: String::new(),
            runtime_params: String::new(),
            pid: 1,
            start_time: Timestamp(0),
            initial_domain: DomainId(0),
            context: None,
        };
        let (mut survivals, mut replay) = (Survivals::default(), Replay::new(&info).unwrap());
        for (time, kind) in (1..).zip(story) {
            let (thread, domain) = (ThreadId(0), DomainId(0));
            let record = Record { time: Timestamp(time), thread, domain, kind };
            replay.take(&record, &[LocationCode(1)], &mut survivals);
        }
        replay.finish(Timestamp(0), &mut survivals);
        survivals
    }

    /// Blocks allocated, born old, promoted, collected, young and old at the end.
    fn counts(sums: &Sums) -> [u64; 6] {
        let Sums { allocated, born_old, promoted, collected, young, old, .. } = sums;
        [allocated, born_old, promoted, collected, young, old].map(|tally| tally.amount().samples)
    }

    fn survived(story: impl IntoIterator<Item = RecordKind>) -> [f64; 2] {
        observed(story).total().survived.map(|survived| survived.value)
    }

    use Generation::{Compaction, Major, Minor};

    #[test]
    fn blocks_are_counted_by_what_became_of_them() {
        let story = [
            young(1),
            young(2),
            young(3),
            birth(4, Source::Major),
            birth(5, Source::Major),
            birth(6, Source::External),
            promotion(1),
            promotion(2),
            death(1),
            death(5),
            death(6),
        ];
        let survivals = observed(story);
        assert_eq!(counts(&survivals.total()), [5, 2, 2, 2, 1, 2]);
        assert_eq!(survivals.found().count(), 1);
        assert!(!survivals.is_told());
        assert_eq!(survivals.total().mean_survived(), Some([0.0, 0.0]));
        assert_eq!(Sums::default().mean_survived(), None);
    }

    #[test]
    fn the_collection_that_found_a_block_dead_is_not_survived() {
        let (minor, major) =
            (|n| [begin(Minor, n), end(Minor, n)], |n| [begin(Major, n), end(Major, n)]);
        let at_once = [vec![young(1)], minor(1).into(), vec![death(1)]].concat();
        assert_eq!(survived(at_once), [0.0, 0.0]);
        let within = [young(1), begin(Minor, 1), death(1), end(Minor, 1)];
        assert_eq!(survived(within), [0.0, 0.0]);
        let later = [
            vec![young(1)],
            minor(1).into(),
            vec![promotion(1)],
            minor(2).into(),
            major(1).into(),
            vec![begin(Major, 2), death(1), end(Major, 2)],
        ];
        assert_eq!(survived(later.concat()), [2.0, 1.0]);
    }

    #[test]
    fn collections_before_a_birth_and_those_that_go_on_are_not_survived() {
        let story = [
            begin(Minor, 1),
            end(Minor, 1),
            birth(1, Source::Major),
            begin(Minor, 2),
            end(Minor, 2),
            begin(Major, 1),
        ];
        assert_eq!(survived(story), [1.0, 0.0]);
    }

    #[test]
    fn half_told_collections_count() {
        let ends = [young(1), end(Minor, 7), death(1), young(2), end(Minor, 8), promotion(2)];
        let survivals = observed(ends);
        assert_eq!(survivals.total().survived.map(|it| it.value), [1.0, 0.0]);
        let [minor, ..] = survivals.series();
        assert_eq!((minor.times.len(), minor.numbers), (2, Some((7, 8))));
        assert_eq!(minor.durations, []);
        let begins = [begin(Major, 1), begin(Major, 2), end(Major, 2), end(Compaction, 1)];
        let survivals = observed(begins);
        assert!(survivals.is_told());
        let [_, major, compaction] = survivals.series();
        assert_eq!((major.times.len(), major.durations.as_slice()), (2, [1].as_slice()));
        assert_eq!(compaction.times, [Timestamp(4)]);
    }

    #[test]
    fn collections_that_are_passed_over_count() {
        let story = [
            young(1),
            end(Minor, 3),
            young(2),
            promotion(1),
            end(Minor, 7),
            death(2),
            end(Minor, 9),
            birth(3, Source::Major),
            end(Minor, 10),
            end(Major, 2),
            death(1),
        ];
        let survivals = observed(story);
        let [minor, ..] = survivals.series();
        assert_eq!((minor.count(), minor.passed.as_slice()), (8, [1, 4, 2, 1].as_slice()));
        // The second died young, in the first collection of its life, whichever that was.
        let total = survivals.total();
        assert_eq!(total.survived[0].value, 8.0 + 0.0 + 1.0);
        // The major one found the first block dead, and left the third one alive.
        assert_eq!(total.most_survived, [8, 1]);
    }

    #[test]
    fn numbers_that_make_no_sense_do_no_harm() {
        let ends = [7, 3, u64::MAX, 0, u64::MAX].map(|number| end(Minor, number));
        let survivals = observed(ends);
        assert_eq!(survivals.series()[0].count(), u64::MAX);
    }

    #[test]
    fn the_most_that_was_survived_is_kept() {
        let minors = (1..=5).flat_map(|number| [begin(Minor, number), end(Minor, number)]);
        let story = [young(1), promotion(1)].into_iter().chain(minors).chain([young(2)]);
        let total = observed(story).total();
        assert_eq!((total.most_survived, total.mean_survived()), ([5, 0], Some([2.5, 0.0])));
    }

    #[test]
    fn counters_are_kept() {
        let counters = Counters { minor_faults: Some(3), ..Counters::default() };
        let survivals = observed([RecordKind::from(Fact::Counters(counters))]);
        assert_eq!(survivals.counters(), [(Timestamp(1), counters)]);
    }
}
