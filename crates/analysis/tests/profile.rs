//! A profile against a naive twin, and small traces whose numbers are known.

use std::collections::HashMap;
use std::time::Duration;

use lifetrace_analysis::filter::View;
use lifetrace_analysis::{Callsite, Metric, Names, Place, Profile};
use lifetrace_trace::event::{Allocation, Event, GROWTH, GROWTH_NAME, Location, Source, TraceInfo};
use lifetrace_trace::ids::{AllocationId, DomainId, LocationCode, Timestamp, Words};
use proptest::prelude::*;

const START: u64 = 1_000_000;

fn info(sample_rate: f64) -> TraceInfo {
    TraceInfo {
        sample_rate,
        word_bits: 64,
        executable_name: "/bin/true".into(),
        host_name: "host".into(),
        runtime_params: String::new(),
        pid: 1,
        start_time: Timestamp(START),
        initial_domain: DomainId(0),
        context: None,
    }
}

/// Feeds a profile with consistent allocations.
struct Program {
    profile: Profile,
    next_id: u64,
    previous: Vec<LocationCode>,
}

impl Program {
    fn new(rate: f64) -> Self {
        Self { profile: Profile::new(&info(rate)).unwrap(), next_id: 0, previous: Vec::new() }
    }

    fn allocate(&mut self, time: u64, words: u64, stack: &[u64]) -> AllocationId {
        let backtrace: Vec<_> = stack.iter().copied().map(LocationCode).collect();
        let id = AllocationId(self.next_id);
        let allocation = Allocation {
            id,
            length: Words(words),
            samples: 1,
            source: Source::External,
            domain: DomainId(0),
            backtrace: &backtrace,
            common_prefix: self.previous.iter().zip(&backtrace).take_while(|(a, b)| a == b).count(),
        };
        self.profile.record(Timestamp(START + time), &Event::Allocation(allocation));
        self.next_id += 1;
        self.previous = backtrace;
        id
    }

    fn collect(&mut self, time: u64, id: AllocationId) {
        self.profile.record(Timestamp(START + time), &Event::Collection(id));
    }

    fn promote(&mut self, time: u64, id: AllocationId) {
        self.profile.record(Timestamp(START + time), &Event::Promotion(id));
    }
}

/// Locations by code; a code that is not there has none.
struct Book(HashMap<LocationCode, Vec<Location>>);

impl Book {
    fn new(functions: &[(u64, &[&str])]) -> Self {
        let locations = |names: &[&str]| names.iter().map(|name| location(name)).collect();
        Self(
            functions.iter().map(|&(code, names)| (LocationCode(code), locations(names))).collect(),
        )
    }
}

impl Names for Book {
    fn locations(&self, code: LocationCode) -> &[Location] {
        self.0.get(&code).map_or(&[], Vec::as_slice)
    }
}

fn location(function: &str) -> Location {
    Location {
        filename: format!("{function}.c").into(),
        line: 7,
        start_char: 0,
        end_char: 0,
        defname: function.into(),
    }
}

fn name(place: Place<'_>) -> &str {
    match place {
        Place::Known(location) => &location.defname,
        Place::Unknown(_) => "unknown",
        Place::NoBacktrace => "nothing",
    }
}

fn names<'a>(callsites: &[Callsite<'a>]) -> Vec<&'a str> {
    callsites.iter().map(|callsite| name(callsite.place)).collect()
}

#[test]
fn totals_of_a_small_program() {
    let mut program = Program::new(1.0);
    let first = program.allocate(10, 4, &[1]);
    let second = program.allocate(20, 2, &[1, 2]);
    program.promote(25, second);
    program.collect(30, first);
    program.allocate(1_000, 1, &[]);
    program.collect(2_000, second);

    let summary = program.profile.summary();
    assert!(summary.sampling.is_exact());
    assert_eq!((summary.samples, summary.promotions, summary.collections), (3, 1, 2));
    assert_eq!((summary.hits, summary.unmatched, summary.events()), (3, 0, 6));
    assert_eq!(summary.duration, Duration::from_micros(2_000));
    assert_eq!(summary.allocated.bytes.value, 56.0);
    assert_eq!(summary.allocated.objects.value, 3.0);
    // It is outside the heap: a block that stands for it has moved.
    assert_eq!((summary.promoted.bytes.value, summary.outside.bytes.value), (0.0, 56.0));
    assert_eq!(summary.peak.amount.bytes.value, 48.0);
    assert_eq!(summary.peak.time, Duration::from_micros(20));
    assert_eq!(summary.live.bytes.value, 8.0);
    assert_eq!(summary.live.bytes.variance, 0.0);
}

#[test]
fn events_about_unknown_blocks_are_counted() {
    let mut program = Program::new(0.5);
    program.collect(1, AllocationId(9));
    program.promote(2, AllocationId(9));
    program.allocate(3, 1, &[1]);
    program.next_id = 0;
    program.allocate(4, 1, &[1]);
    let summary = program.profile.summary();
    assert_eq!(summary.unmatched, 3);
    assert_eq!(summary.live.samples, 1);
    assert_eq!(summary.live.bytes.value, 16.0);
}

#[test]
fn a_growth_is_bytes_without_an_object() {
    let book = Book::new(&[(1, &["main"]), (2, &["append"]), (GROWTH.0, &[GROWTH_NAME])]);
    let mut program = Program::new(1.0);
    program.allocate(1, 10, &[1, 2]);
    let growth = program.allocate(2, 5, &[1, 2, GROWTH.0]);
    let summary = program.profile.summary();
    assert_eq!((summary.live.bytes.value, summary.live.objects.value), (120.0, 1.0));
    assert_eq!(
        names(&program.profile.callsites(&book, &View::default(), Metric::Allocated).callsites),
        ["append"]
    );

    program.collect(3, growth);
    let summary = program.profile.summary();
    assert_eq!((summary.live.bytes.value, summary.live.objects.value), (80.0, 1.0));
    assert_eq!((summary.allocated.bytes.value, summary.samples), (120.0, 2));
}

#[test]
fn a_callsite_is_the_innermost_function_with_a_reason() {
    let book = Book::new(&[
        (1, &["main"]),
        (2, &["build", "operator new(unsigned long)"]),
        (3, &["parse", "helper", "std::vector<int>::push_back"]),
        (4, &["malloc"]),
        (5, &["start_thread"]),
    ]);
    let mut program = Program::new(1.0);
    program.allocate(1, 1, &[1, 2, 4]);
    program.allocate(2, 2, &[1, 3, 4]);
    program.allocate(3, 4, &[4]);
    program.allocate(4, 8, &[5, 404]);
    program.allocate(5, 16, &[]);
    program.allocate(6, 32, &[1, 4, 4, 404]);

    let report = program.profile.callsites(&book, &View::default(), Metric::Allocated);
    assert_eq!(
        names(&report.callsites),
        ["main", "nothing", "unknown", "malloc", "helper", "build"]
    );
    let helper = &report.callsites[4];
    let frames: Vec<_> = report
        .frames(helper.hottest.backtrace)
        .map(|frame| (name(frame.place), frame.inlined))
        .collect();
    let expected = [
        ("malloc", false),
        ("std::vector<int>::push_back", true),
        ("helper", true),
        ("parse", false),
        ("main", false),
    ];
    assert_eq!(frames, expected);
}

#[test]
fn two_codes_of_one_place_are_one_callsite_and_one_backtrace() {
    let book = Book::new(&[(1, &["main"]), (2, &["f"]), (3, &["f"]), (4, &["g"])]);
    let mut program = Program::new(1.0);
    program.allocate(1, 1, &[1, 2]);
    program.allocate(2, 1, &[1, 3]);
    program.allocate(3, 1, &[1, 4, 2]);

    let report = program.profile.callsites(&book, &View::default(), Metric::Objects);
    let [callsite] = &report.callsites[..] else { panic!("{:?}", report.callsites) };
    assert_eq!(callsite.allocated.objects.value, 3.0);
    assert_eq!(callsite.share, 1.0);
    assert_eq!(callsite.hottest.of, 2);
    assert_eq!(callsite.hottest.share, 2.0 / 3.0);
    assert_eq!(report.frames(callsite.hottest.backtrace).count(), 2);
}

#[test]
fn each_order_has_its_own_first() {
    let book = Book::new(&[(1, &["most"]), (2, &["live"]), (3, &["peak"]), (4, &["count"])]);
    let mut program = Program::new(1.0);
    for _ in 0..10 {
        let id = program.allocate(1, 100, &[1]);
        program.collect(1, id);
    }
    for _ in 0..20 {
        let id = program.allocate(1, 1, &[4]);
        program.collect(1, id);
    }
    let peak = program.allocate(2, 500, &[3]);
    program.collect(3, peak);
    program.allocate(4, 50, &[2]);

    let first =
        |sort| names(&program.profile.callsites(&book, &View::default(), sort).callsites)[0];
    assert_eq!(first(Metric::Allocated), "most");
    assert_eq!(first(Metric::Live), "live");
    assert_eq!(first(Metric::Peak), "peak");
    assert_eq!(first(Metric::Objects), "count");
    assert_eq!(program.profile.callsites(&book, &View::default(), Metric::Live).callsites.len(), 1);
}

/// What happens to one block: where, how many words, and whether the oldest live one dies first.
fn steps() -> impl Strategy<Value = Vec<(u64, u64, bool)>> {
    prop::collection::vec((0u64..5, 0u64..50, any::<bool>()), 1..200)
}

proptest! {
    /// At the peak, a callsite has what it had live then: the lazy accounts against whole copies.
    #[test]
    fn amounts_at_the_peak_are_those_of_a_naive_copy(steps in steps()) {
        let sites: Vec<String> = (0..5).map(|site| format!("site{site}")).collect();
        let functions: Vec<[&str; 1]> = sites.iter().map(|site| [site.as_str()]).collect();
        let pairs: Vec<(u64, &[&str])> = (0..5).zip(functions.iter().map(|names| &names[..])).collect();
        let book = Book::new(&pairs);

        let mut program = Program::new(1.0);
        let mut queue = std::collections::VecDeque::new();
        let mut live = [0u64; 5];
        let (mut peak, mut peak_live) = (0, [0u64; 5]);
        for (time, (site, words, dies)) in steps.into_iter().enumerate() {
            if dies && let Some((id, site, words)) = queue.pop_front() {
                program.collect(time as u64, id);
                let site: u64 = site;
                live[site as usize] -= words;
            }
            queue.push_back((program.allocate(time as u64, words, &[site]), site, words));
            live[site as usize] += words;
            if live.iter().sum::<u64>() > peak {
                (peak, peak_live) = (live.iter().sum(), live);
            }
        }

        prop_assert_eq!(program.profile.summary().peak.amount.bytes.value, peak as f64 * 8.0);
        for callsite in program.profile.callsites(&book, &View::default(), Metric::Objects).callsites {
            let site: usize = name(callsite.place)[4..].parse().unwrap();
            prop_assert_eq!(callsite.peak.bytes.value, peak_live[site] as f64 * 8.0);
            prop_assert_eq!(callsite.live.bytes.value, live[site] as f64 * 8.0);
        }
    }
}

/// Events as no sound trace has them.
fn odd_event() -> impl Strategy<Value = (u8, u64, u64, Vec<u64>, usize)> {
    (0u8..4, 0u64..6, any::<u64>(), prop::collection::vec(0u64..4, 0..5), any::<usize>())
}

proptest! {
    #[test]
    fn no_sequence_of_events_panics(
        events in prop::collection::vec(odd_event(), 0..60),
        rate in prop::sample::select(vec![f64::MIN_POSITIVE, 1e-9, 0.3, 1.0]),
    ) {
        let mut profile = Profile::new(&info(rate)).unwrap();
        for (kind, id, number, stack, common_prefix) in events {
            let backtrace: Vec<_> = stack.into_iter().map(LocationCode).collect();
            let allocation = Allocation {
                id: AllocationId(id),
                length: Words(number),
                samples: number,
                source: if id % 2 == 0 { Source::Minor } else { Source::External },
                domain: DomainId(0),
                backtrace: &backtrace,
                common_prefix,
            };
            let event = match kind {
                0 => Event::Promotion(AllocationId(id)),
                1 => Event::Collection(AllocationId(id)),
                _ => Event::Allocation(allocation),
            };
            profile.record(Timestamp(number), &event);
        }
        let book = Book::new(&[(1, &["main"]), (2, &["malloc"])]);
        for sort in [Metric::Allocated, Metric::Live, Metric::Peak, Metric::Objects] {
            let callsites = profile.callsites(&book, &View::default(), sort);
            let shares: f64 = callsites.callsites.iter().map(|callsite| callsite.share).sum();
            prop_assert!(callsites.callsites.is_empty() || shares == 0.0 || (shares - 1.0).abs() < 1e-6);
        }
        profile.summary();
    }
}

/// The trace goes on where another one ends: what lived then lives, and was allocated before.
#[test]
fn what_lived_at_the_start_is_not_allocated() {
    let mut profile = Profile::new(&info(1.0)).unwrap();
    let mut birth = |time: u64, id: u64| {
        let allocation = Allocation {
            id: AllocationId(id),
            length: Words(10),
            samples: 10,
            source: Source::External,
            domain: DomainId(0),
            backtrace: &[LocationCode(1)],
            common_prefix: 0,
        };
        profile.record(Timestamp(time), &Event::Allocation(allocation));
    };
    birth(START - 500, 3);
    birth(START - 1, 5);
    birth(START, 9);
    profile.record(Timestamp(START + 7), &Event::Collection(AllocationId(3)));
    profile.record(Timestamp(START + 8), &Event::Collection(AllocationId(9)));
    profile.finish(Timestamp(START + 100));
    let summary = profile.summary();
    let bytes = |amount: &lifetrace_analysis::estimate::Amount| amount.bytes.value;
    let amounts = [&summary.allocated, &summary.live, &summary.peak.amount].map(bytes);
    assert_eq!(amounts, [80.0, 80.0, 240.0]);
    assert_eq!((summary.samples, summary.collections, summary.unmatched), (1, 2, 0));
    assert_eq!(summary.peak.time, Duration::ZERO);
    assert_eq!(profile.replay().counts().earlier, 2);
    let (_, balance) = profile.balances().next().unwrap();
    let seconds = balance.lives.object_seconds.value;
    assert!(
        (seconds - 8e-6).abs() < 1e-12,
        "how long the others live is not known here: {seconds}"
    );
}
