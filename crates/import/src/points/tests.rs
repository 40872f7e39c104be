//! What is written of points is read again: the sums must be those of the points.

use std::collections::BTreeMap;

use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::history::Block;
use lifetrace_analysis::replay::Death;
use lifetrace_analysis::{Observer, Profile, Replay};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{LocationCode, Timestamp};
use lifetrace_trace::lt::Reader;
use lifetrace_trace::{AnyReader, record::Record};
use proptest::prelude::*;

use super::super::scribe::{Scribe, Subject};
use super::*;

/// Each point is a function of `main`.
struct Paths(Vec<[LocationCode; 2]>);

impl Paths {
    fn new(points: usize) -> Self {
        Self((0..points as u64).map(|point| [LocationCode(1), LocationCode(2 + point)]).collect())
    }
}

impl Backtraces for Paths {
    fn backtrace(&self, point: usize) -> &[LocationCode] {
        &self.0[point]
    }

    fn frame(&self, _: LocationCode) -> Frame {
        Frame::default()
    }
}

fn trace(rate: f64, work: impl FnOnce(&mut Scribe<'_>) -> Vec<String>) -> (Vec<u8>, Vec<String>) {
    let mut bytes = Vec::new();
    let subject =
        Subject { command: "test".into(), pid: 1, start: Timestamp(1000), profiler: "test".into() };
    let mut scribe = Scribe::new(&mut bytes, &subject, rate).unwrap();
    let remarks = work(&mut scribe);
    scribe.finish().unwrap();
    (bytes, remarks)
}

fn of_times(points: &[Point], times: Times) -> (Vec<u8>, Vec<String>) {
    trace(1.0, |scribe| write(points, times, &Paths::new(points.len()), scribe).unwrap())
}

fn each_record(trace: &[u8], mut take: impl FnMut(&Record, &[LocationCode])) -> Timestamp {
    let mut reader = AnyReader::lt(Reader::open(trace).unwrap());
    while let Some(told) = reader.next().unwrap() {
        take(&told, reader.backtrace());
    }
    reader.end_time()
}

/// What a reader finds: total and end of each point.
fn found(trace: &[u8]) -> (Profile, Vec<Point>) {
    let info = Reader::open(trace).unwrap().info().clone();
    let mut profile = Profile::new(&info).unwrap();
    let end = each_record(trace, |told, backtrace| profile.take(told, backtrace));
    profile.finish(end);
    let mut points: BTreeMap<u64, Point> = BTreeMap::new();
    for (node, balance) in profile.balances() {
        let point = points.entry(point_of(profile.tree(), node)).or_default();
        let add = |to: &mut Amount, tally: &lifetrace_analysis::estimate::Tally| {
            let amount = tally.amount();
            to.bytes += amount.bytes.value.round() as u64;
            to.blocks += amount.objects.value.round() as u64;
        };
        add(&mut point.total, &balance.allocated);
        add(&mut point.end, &balance.live);
        add(&mut point.peak, &balance.peak);
    }
    (profile, points.into_values().collect())
}

/// The frame below `main`, whether or not bytes were added there.
fn point_of(tree: &lifetrace_analysis::call_tree::CallTree, node: NodeId) -> u64 {
    let codes: Vec<_> = tree.frames(node).collect();
    codes[codes.len() - 2].0
}

/// Microseconds that blocks lived, summed.
#[derive(Default)]
struct Lifetimes(u64);

impl Observer for Lifetimes {
    fn died(&mut self, block: &Block, death: Death) {
        self.survived(block, death.time);
    }

    fn survived(&mut self, block: &Block, end: Timestamp) {
        if !block.is_growth {
            self.0 += (end.0 - block.born.0) * block.weight.value() as u64;
        }
    }
}

fn lifetimes(trace: &[u8]) -> u64 {
    let mut replay = Replay::new(Reader::open(trace).unwrap().info()).unwrap();
    let mut sum = Lifetimes::default();
    let end = each_record(trace, |told, backtrace| replay.take(told, backtrace, &mut sum));
    replay.finish(end, &mut sum);
    sum.0
}

fn amount(bytes: u64, blocks: u64) -> Amount {
    Amount { bytes, blocks }
}

/// Of blocks that live from a time to another.
fn lived(blocks: &[(u64, u64, u64)], times: Times) -> Point {
    let mut point = Point { lifetimes: Some(0), ..Point::default() };
    for (birth, long, size) in blocks.iter().copied() {
        let death = birth + long;
        let add = |to: &mut Amount| *to = amount(to.bytes + size, to.blocks + 1);
        add(&mut point.total);
        if birth <= times.peak && death > times.peak {
            add(&mut point.peak);
        }
        if death > times.end {
            add(&mut point.end);
        }
        point.lifetimes = point.lifetimes.map(|sum| sum + death.min(times.end) - birth);
    }
    point
}

#[test]
fn one_point_by_hand() {
    let times = Times { peak: 100, end: 1000 };
    let point = Point {
        total: amount(100, 10),
        peak: amount(48, 4),
        end: amount(24, 2),
        lifetimes: Some(2 * 950 + 2 * 300 + 6 * 10),
        size: None,
    };
    let (trace, remarks) = of_times(&[point], times);
    let (_, points) = found(&trace);
    assert_eq!(points, [Point { lifetimes: None, ..point }]);
    assert_eq!(lifetimes(&trace), 2 * 950 + 2 * 300 + 6 * 10);
    assert_eq!(remarks, Vec::<String>::new());
}

#[test]
fn bytes_without_blocks_were_added_to_one() {
    // A block of 100 bytes grew to 300 after the peak.
    let (peak, end) = (amount(100, 1), amount(300, 1));
    let point = Point { total: end, peak, end, lifetimes: Some(990), size: None };
    let (trace, _) = of_times(&[point], Times { peak: 500, end: 1000 });
    let (profile, points) = found(&trace);
    assert_eq!((points[0].total, points[0].end), (end, end));
    let summary = profile.summary();
    assert_eq!((summary.samples, summary.live.objects.value), (2, 1.0));
    assert_eq!(lifetimes(&trace), 990);
}

#[test]
fn numbers_that_contradict_each_other_are_told() {
    let point = Point { peak: amount(10, 1), ..Point::default() };
    let (trace, remarks) = of_times(&[point], Times { peak: 1, end: 2 });
    assert_eq!(found(&trace).1[0].total, amount(10, 1));
    assert!(remarks[0].contains("contradict"), "{remarks:?}");
    let point = Point { total: amount(10, 1), lifetimes: Some(77), ..Point::default() };
    let (_, remarks) = of_times(&[point], Times { peak: 1, end: 2 });
    assert!(remarks[0].contains("lifetimes could not be kept"), "{remarks:?}");
}

#[test]
fn huge_numbers_do_no_harm() {
    let value = u64::MAX;
    let all = amount(value, value);
    let point =
        Point { total: all, peak: all, end: all, lifetimes: Some(value), size: Some(value) };
    for times in [Times { peak: 0, end: 0 }, Times { peak: value, end: value }] {
        let (bytes, _) = of_times(&[point, point], times);
        each_record(&bytes, |_, _| {});
    }
    let rate = 1.0 / 512.0;
    let (bytes, remarks) = trace(rate, |scribe| {
        write_moment(&[point], rate, Counted::Blocks, &Paths::new(1), scribe).unwrap()
    });
    each_record(&bytes, |_, _| {});
    assert!(remarks[0].contains("too many blocks"), "{remarks:?}");
}

#[test]
fn too_many_blocks_keep_their_sums() {
    let point = Point {
        total: amount(1_000_000_000, 100_000_000),
        end: amount(800, 80),
        peak: amount(800, 80),
        ..Point::default()
    };
    let (trace, remarks) = of_times(&[point], Times { peak: 10, end: 1000 });
    let (_, points) = found(&trace);
    assert_eq!((points[0].total, points[0].end), (point.total, point.end));
    assert!(remarks[0].contains("one stands for up to 256"), "{remarks:?}");
}

fn blocks() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    prop::collection::vec((0..1000_u64, prop_oneof![0..20_u64, 0..2000_u64], 0..300_u64), 0..30)
}

proptest! {
    // Each case writes a trace, and a writer's tables are large.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn totals_and_ends_are_kept(points in prop::collection::vec(blocks(), 1..8), peak in 0..1000_u64) {
        let times = Times { peak, end: 1000 };
        let points: Vec<_> = points.iter().map(|blocks| lived(blocks, times)).collect();
        let points: Vec<_> = points.into_iter().filter(|it| it.total.blocks > 0).collect();
        let (trace, _) = of_times(&points, times);
        let (_, found) = found(&trace);
        let kept = |point: &Point| (point.total, point.end);
        prop_assert_eq!(
            found.iter().map(kept).collect::<Vec<_>>(),
            points.iter().map(kept).collect::<Vec<_>>()
        );
    }

    #[test]
    fn the_peak_is_kept_unless_it_is_told_otherwise(
        points in prop::collection::vec(blocks(), 1..8), peak in 1..999_u64,
    ) {
        let times = Times { peak, end: 1000 };
        let points: Vec<_> = points.iter().map(|blocks| lived(blocks, times)).collect();
        let (trace, remarks) = of_times(&points, times);
        let told: u64 = points.iter().map(|point| point.peak.bytes).sum();
        let (profile, _) = found(&trace);
        let is_told = remarks.iter().any(|remark| remark.contains("above"));
        let found = profile.summary().peak.amount.bytes.value as u64;
        prop_assert!(found == told || found > told && (is_told || told == 0), "{found} {told} {remarks:?}");
    }

    #[test]
    fn lifetimes_are_kept_where_there_is_room(blocks in blocks(), peak in 0..1000_u64) {
        let times = Times { peak, end: 1000 };
        let point = lived(&blocks, times);
        let (trace, remarks) = of_times(&[point], times);
        let is_told = remarks.iter().any(|it| it.contains("lifetimes"));
        prop_assert!(is_told || Some(lifetimes(&trace)) == point.lifetimes, "{remarks:?}");
    }

    #[test]
    fn without_times_totals_and_ends_are_kept(points in prop::collection::vec(blocks(), 1..8)) {
        let times = Times { peak: 1000, end: 1000 };
        let points: Vec<_> = points.iter().map(|blocks| lived(blocks, times)).collect();
        let points: Vec<_> = points.into_iter().filter(|it| it.total.blocks > 0).collect();
        let paths = Paths::new(points.len());
        let (trace, _) = trace(1.0, |scribe| write_moment(&points, 1.0, Counted::Blocks, &paths, scribe).unwrap());
        let (_, found) = found(&trace);
        for (found, point) in found.iter().zip(&points) {
            prop_assert_eq!((found.total, found.end), (point.total, point.end));
        }
    }
}
