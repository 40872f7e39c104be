//! Random traces: the reader, the naive decoder and the one who wrote them agree.

use std::collections::HashMap;

use lifetrace_trace::event::{Location, Source};
use lifetrace_trace::ids::{AllocationId, DomainId, LocationCode, Timestamp, Words};
use lifetrace_trace::memtrace::{NewAllocation, Reader, Version, Writer, copy};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::naive;
use crate::support::{Owned, START, info, location, read_rest, read_whole};

/// Frames that are surely written, whatever their codes.
const MAX_NEW_FRAMES: usize = 400;

#[derive(Clone, Debug)]
enum Step {
    Allocate { length: u64, samples: u64, source: Source, keep: usize, new: Vec<u64> },
    Promote(prop::sample::Index),
    Collect(prop::sample::Index),
    Wait(i64),
    Switch(u16),
    Flush,
}

/// Codes from a few, so that predictions are often right; many; or all in the same slot of the cache.
fn code() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => 0..4_u64,
        4 => 0..5000_u64,
        3 => (0..8_u64).prop_map(|n| n << 35),
        1 => 0..1_u64 << 62,
        1 => (1..1_u64 << 62).prop_map(u64::wrapping_neg),
    ]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 1..3_u64, 4 => 0..20_u64, 2 => 200..300_u64, 1 => 0..1_u64 << 62]
}

fn frames() -> impl Strategy<Value = Vec<u64>> {
    let recursion = (code(), 0..MAX_NEW_FRAMES).prop_map(|(code, depth)| vec![code; depth]);
    prop_oneof![6 => prop::collection::vec(code(), 0..20), 1 => recursion]
}

fn allocate() -> impl Strategy<Value = Step> {
    let source = prop_oneof![6 => Just(Source::Minor), 1 => Just(Source::Major), 1 => Just(Source::External)];
    (number(), number(), source, 0..40_usize, frames()).prop_map(
        |(length, samples, source, keep, new)| Step::Allocate {
            length,
            samples,
            source,
            keep,
            new,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => allocate(),
        3 => any::<prop::sample::Index>().prop_map(Step::Promote),
        5 => any::<prop::sample::Index>().prop_map(Step::Collect),
        4 => (-50..100_i64).prop_map(Step::Wait),
        1 => prop_oneof![Just(29_000_000), Just(31_000_000), Just(99_000_000)].prop_map(Step::Wait),
        1 => (0..3_u16).prop_map(Step::Switch),
        1 => Just(Step::Flush),
    ]
}

fn locate(code: LocationCode) -> Vec<Location> {
    let place = |inlined: u64| {
        let (file, function) = (code.0 % 40, code.0.wrapping_add(inlined) % 61);
        location(&format!("{file}.ml"), (code.0 % 9999) as u32, &format!("f{function}"))
    };
    (0..code.0 % 4).map(place).collect()
}

/// A trace, and what it should say: per domain, since these are written one after another.
#[derive(Default)]
struct Script {
    now: u64,
    domain: u16,
    /// Of the domains that were ever switched to.
    last_times: HashMap<u16, u64>,
    stacks: HashMap<u16, Vec<u64>>,
    ids: Vec<AllocationId>,
    expected: HashMap<u16, Vec<(Timestamp, Owned)>>,
}

impl Script {
    fn new() -> Self {
        Self { now: START.0, last_times: HashMap::from([(0, START.0)]), ..Self::default() }
    }

    fn perform(&mut self, writer: &mut Writer<Vec<u8>>, step: &Step) {
        let now = Timestamp(self.now);
        let event = match step {
            Step::Wait(micros) => {
                self.now = self.now.saturating_add_signed(*micros);
                return;
            }
            Step::Switch(domain) => {
                self.domain = *domain;
                self.last_times.entry(*domain).or_insert(START.0);
                return writer.switch_domain(DomainId(*domain));
            }
            Step::Flush => {
                writer.flush(now).unwrap();
                for last in self.last_times.values_mut() {
                    *last = self.now.max(*last);
                }
                return;
            }
            Step::Promote(_) | Step::Collect(_) if self.ids.is_empty() => return,
            Step::Promote(index) => {
                let id = *index.get(&self.ids);
                writer.promotion(now, id).unwrap();
                Owned::Promotion(id.0)
            }
            Step::Collect(index) => {
                let id = *index.get(&self.ids);
                writer.collection(now, id).unwrap();
                Owned::Collection(id.0)
            }
            Step::Allocate { length, samples, source, keep, new } => {
                let stack = self.stacks.entry(self.domain).or_default();
                stack.truncate(*keep);
                stack.extend(new);
                let backtrace: Vec<_> = stack.iter().copied().map(LocationCode).collect();
                let allocation = NewAllocation {
                    length: Words(*length),
                    samples: *samples,
                    source: *source,
                    backtrace: &backtrace,
                    common_prefix: 0,
                    id: None,
                };
                let id = writer.allocation(now, &allocation, &mut locate).unwrap();
                self.ids.push(id);
                let (domain, length, samples, source) = (self.domain, *length, *samples, *source);
                Owned::Allocation { id: id.0, length, samples, source, domain, backtrace }
            }
        };
        let last = self.last_times.get_mut(&self.domain).unwrap();
        *last = self.now.max(*last);
        self.expected.entry(self.domain).or_default().push((Timestamp(*last), event));
    }
}

/// Splits events as the script has them. Promotions and collections don't tell their domain, so the
/// naive decoder's packets do: `domains` is the domain of each event.
fn by_domain(
    events: Vec<(Timestamp, Owned)>,
    domains: &[u16],
) -> HashMap<u16, Vec<(Timestamp, Owned)>> {
    let mut split: HashMap<u16, Vec<_>> = HashMap::new();
    for (event, domain) in events.into_iter().zip(domains) {
        split.entry(*domain).or_default().push(event);
    }
    split
}

fn domains(trace: &[u8]) -> Vec<u16> {
    let mut reader = Reader::open(trace).unwrap();
    let mut domains = Vec::new();
    while reader.next().unwrap().is_some() {
        domains.push(reader.domain().0);
    }
    domains
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: RngSeed::Fixed(2), ..Default::default() })]

    #[test]
    fn what_is_written_is_read(steps in prop::collection::vec(step(), 0..120)) {
        let mut writer = Writer::new(Vec::new(), &info(), Version::V3).unwrap();
        let mut script = Script::new();
        steps.iter().for_each(|step| script.perform(&mut writer, step));
        let trace = writer.finish().unwrap();

        let mut reader = Reader::open(&trace[..]).unwrap();
        let (events, outcome) = read_rest(&mut reader);
        outcome.unwrap();
        let naive = naive::decode(&trace);
        prop_assert_eq!(&events, &naive.events);
        for (code, locations) in &naive.locations {
            prop_assert_eq!(reader.locations(LocationCode(*code)), &locations[..]);
            prop_assert_eq!(&locate(LocationCode(*code)), locations);
        }
        let is_located = |code: &LocationCode| naive.locations.contains_key(&code.0);
        for (_, event) in &events {
            if let Owned::Allocation { backtrace, .. } = event {
                prop_assert!(backtrace.iter().all(is_located));
            }
        }
        prop_assert_eq!(by_domain(events, &domains(&trace)), script.expected);
    }

    #[test]
    fn copies_have_the_same_bytes(steps in prop::collection::vec(step(), 0..120)) {
        let mut writer = Writer::new(Vec::new(), &info(), Version::V3).unwrap();
        let mut script = Script::new();
        let without_flushes = steps.iter().filter(|step| !matches!(step, Step::Flush));
        without_flushes.for_each(|step| script.perform(&mut writer, step));
        let trace = writer.finish().unwrap();

        let mut reader = Reader::open(&trace[..]).unwrap();
        let mut copied = Writer::new(Vec::new(), reader.info(), reader.version()).unwrap();
        copy(&mut reader, &mut copied).unwrap();
        let copied = copied.finish().unwrap();
        let (read, reread) = (read_whole(&trace), read_whole(&copied));
        let (domains, redomains) = (domains(&trace), domains(&copied));
        let is_alone = domains.iter().all(|domain| *domain == 0);
        prop_assert_eq!(by_domain(reread, &redomains), by_domain(read, &domains));
        prop_assert!(copied == trace || !is_alone);
    }
}
