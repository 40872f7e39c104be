//! A program that is known in full, told as a trace tells it.

use std::collections::HashMap;

use lifetrace_analysis::call_tree::CallTree;
use lifetrace_analysis::filter::View;
use lifetrace_analysis::sites::SiteId;
use lifetrace_analysis::{Names, Observer, Replay, Shaped, Sites};
use lifetrace_trace::event::{Location, Source, TraceInfo};
use lifetrace_trace::fact::{Cycle, Fact, Generation};
use lifetrace_trace::ids::{
    AllocationId, DomainId, LocationCode, SamplerId, Size, ThreadId, Timestamp, Words,
};
use lifetrace_trace::record::{Birth, Record, RecordKind};

pub const START: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000;

/// Times are microseconds since the start.
#[derive(Clone, Debug)]
pub struct Block {
    pub born: u64,
    pub died: Option<u64>,
    pub words: u64,
    /// Its callsite, called by `main`.
    pub site: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub blocks: Vec<Block>,
    /// When collections begin, of the whole heap or of the young one.
    pub cycles: Vec<(u64, bool)>,
    pub end: u64,
}

/// Every code is a function of its own.
pub struct Book(HashMap<LocationCode, Location>);

impl Book {
    pub fn new() -> Self {
        let location = |code: u64| Location {
            filename: "a.c".into(),
            line: 1,
            start_char: 0,
            end_char: 0,
            defname: format!("f{code}").into(),
        };
        Self((0..20).map(|code| (LocationCode(code), location(code))).collect())
    }
}

impl Names for Book {
    fn locations(&self, code: LocationCode) -> &[Location] {
        self.0.get(&code).map_or(&[], std::slice::from_ref)
    }
}

/// Numbers without order, the same each time.
pub struct Random(pub u64);

impl Random {
    /// At least 0, less than 1.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Between both, the logarithm evenly.
    pub fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }
}

impl Program {
    /// What a sampler at this rate tells, in order.
    pub fn told(&self, rate: f64, seed: u64) -> Vec<(Record, Vec<LocationCode>)> {
        let mut random = Random(seed);
        let mut told = Vec::new();
        for (id, block) in (0..).map(AllocationId).zip(&self.blocks) {
            let inclusion = 1.0 - (1.0 - rate).powf(block.words as f64);
            if random.unit() < inclusion {
                // What happens at the same time: collections, births, deaths.
                told.push((block.born, 1, RecordKind::Birth(birth(id, block)), block.site));
                told.extend(block.died.map(|died| (died, 2, RecordKind::Collection(id), 0)));
            }
        }
        let (mut numbers, mut cycles) = ([0, 0], self.cycles.clone());
        cycles.sort_unstable();
        for (time, is_major) in cycles {
            let generation = if is_major { Generation::Major } else { Generation::Minor };
            numbers[usize::from(is_major)] += 1;
            let number = numbers[usize::from(is_major)];
            for begins in [true, false] {
                let cycle = Fact::Cycle(Cycle { generation, number, begins });
                told.push((time, 0, RecordKind::from(cycle), 0));
            }
        }
        told.sort_by_key(|&(time, order, ..)| (time, order));
        let told = told.into_iter().map(|(time, _, kind, site)| {
            let (time, backtrace) =
                (Timestamp(START + time), vec![LocationCode(0), LocationCode(site)]);
            (Record { time, thread: ThreadId(0), domain: DomainId(0), kind }, backtrace)
        });
        told.collect()
    }

    pub fn end(&self) -> Timestamp {
        Timestamp(START + self.end)
    }
}

fn birth(id: AllocationId, block: &Block) -> Birth {
    Birth {
        id,
        size: Size::Words(Words(block.words)),
        samples: 1,
        source: Source::External,
        sampler: SamplerId(0),
        is_growth: false,
        is_truncated: false,
        common_prefix: 0,
    }
}

/// Tells all of it to an observer. Gives back the backtraces.
pub fn replay(program: &Program, rate: f64, seed: u64, observer: &mut impl Observer) -> CallTree {
    let info = TraceInfo {
        sample_rate: rate,
        word_bits: 64,
        executable_name: "/bin/true".into(),
        host_name: "host".into(),
        runtime_params: String::new(),
        pid: 1,
        start_time: Timestamp(START),
        initial_domain: DomainId(0),
        context: None,
    };
    let mut replay = Replay::new(&info).unwrap();
    for (told, backtrace) in program.told(rate, seed) {
        replay.take(&told, &backtrace, observer);
    }
    replay.finish(program.end(), observer);
    replay.tree().clone()
}

/// The callsites of what was told.
pub fn sites<'b>(tree: &CallTree, book: &'b Book) -> Sites<'b> {
    Sites::new(Shaped::new(tree, book, &View::default()))
}

/// The number that a callsite has in the program.
pub fn number(sites: &Sites<'_>, site: SiteId) -> u64 {
    sites.place(site).function().and_then(|name| name[1..].parse().ok()).unwrap()
}
