//! Any sequence of events is read as it was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use lifetrace_trace::event::{GROWTH, Source};
use lifetrace_trace::fact::{Fact, Held, Holder, Label, Looked, Lost, RuntimeCount};
use lifetrace_trace::ids::{AllocationId, Bytes, LocationCode, Size, Timestamp, Words};
use lifetrace_trace::lt::{Reader, Writer};
use proptest::prelude::*;

use crate::support::{Birth, Record, RecordKind, START, info, read_from, write_to};

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..4u64, 0..300u64, any::<u64>()]
}

fn size() -> impl Strategy<Value = Size> {
    let words = number().prop_map(|count| Size::Words(Words(count)));
    prop_oneof![words, number().prop_map(|count| Size::Bytes(Bytes(count)))]
}

fn source() -> impl Strategy<Value = Source> {
    prop_oneof![Just(Source::Minor), Just(Source::Major), Just(Source::External)]
}

/// Few frames, so that backtraces have something in common.
fn backtrace() -> impl Strategy<Value = Vec<LocationCode>> {
    let code = prop_oneof![0..5u64, 0..30u64, Just(u64::MAX)];
    let frames = prop::collection::vec(code.prop_map(LocationCode), 0..30);
    let all = prop_oneof![3 => frames, 1 => recursion()];
    (all, prop::bool::weighted(0.1)).prop_map(|(mut frames, is_growth)| {
        frames.extend(is_growth.then_some(GROWTH));
        frames
    })
}

/// A few functions that call each other again and again, and one that does not.
fn recursion() -> impl Strategy<Value = Vec<LocationCode>> {
    (0..3u64, 1..4u64, 0..300usize, 0..5u64).prop_map(|(outer, period, depth, leaf)| {
        let turns = (0..depth as u64).map(|at| 10 * period + at % period);
        [outer].into_iter().chain(turns).chain([leaf]).map(LocationCode).collect()
    })
}

/// Few names, so that some are told again.
fn fact() -> impl Strategy<Value = Fact> {
    let text = || ".{0,8}".prop_map(Arc::from);
    let name = || "[ab]{0,2}".prop_map(Arc::from);
    prop_oneof![
        text().prop_map(Fact::Marker),
        name().prop_map(Fact::Notice),
        (name(), number())
            .prop_map(|(name, value)| Fact::RuntimeCount(RuntimeCount { name, value })),
        (name(), number()).prop_map(|(reason, count)| Fact::Lost(Lost { reason, count })),
        (name(), text()).prop_map(|(key, value)| Fact::Label(Label { key, value })),
        (number(), number())
            .prop_map(|(bytes, micros)| Fact::Looked(Looked { bytes: Bytes(bytes), micros })),
        (holder(), prop::collection::vec(number().prop_map(AllocationId), 0..20))
            .prop_map(|(by, blocks)| Fact::Held(Held { by, blocks })),
    ]
}

fn holder() -> impl Strategy<Value = Holder> {
    let name = || "[ab]{0,2}".prop_map(Arc::from);
    prop_oneof![
        Just(Holder::Nothing),
        Just(Holder::Lost),
        name().prop_map(Holder::Variable),
        number().prop_map(|id| Holder::Block(AllocationId(id))),
        Just(Holder::Kernel),
        name().prop_map(Holder::Thread),
        name().prop_map(Holder::File),
        Just(Holder::Memory),
    ]
}

/// What the index should say of all: for each subject, what its facts come to.
fn of_all(facts: impl Iterator<Item = Fact>) -> BTreeMap<String, Fact> {
    let mut all = BTreeMap::new();
    for fact in facts {
        let subject = match &fact {
            Fact::Notice(code) => format!("notice {code}"),
            Fact::RuntimeCount(count) => format!("count {}", count.name),
            Fact::Lost(lost) => format!("lost {}", lost.reason),
            Fact::Label(label) => format!("label {}", label.key),
            Fact::Looked(_) => "looked".to_owned(),
            _ => continue,
        };
        let before = all.insert(subject.clone(), fact);
        if let (Some(Fact::Lost(before)), Some(Fact::Lost(sum))) = (before, all.get_mut(&subject)) {
            sum.count = sum.count.saturating_add(before.count);
        }
    }
    all
}

/// Ids mostly follow each other, deaths are mostly of blocks that live.
fn kind() -> impl Strategy<Value = RecordKind> {
    let id = prop_oneof![9 => 0..40u64, 1 => any::<u64>()];
    let birth = (
        (id.clone(), size(), prop_oneof![4 => Just(1), 1 => number()]),
        (source(), 0..3u8, prop::bool::weighted(0.1), backtrace()),
    );
    let birth =
        birth.prop_map(|((id, size, samples), (source, sampler, is_truncated, backtrace))| {
            RecordKind::Birth(Birth { id, size, samples, source, sampler, is_truncated, backtrace })
        });
    prop_oneof![
        4 => birth,
        1 => id.clone().prop_map(RecordKind::Promotion),
        3 => id.prop_map(RecordKind::Collection),
        1 => fact().prop_map(RecordKind::Fact),
    ]
}

fn told() -> impl Strategy<Value = Record> {
    let thread = prop_oneof![5 => Just(0u32), 2 => 0..100u32, 1 => any::<u32>()];
    let domain = prop_oneof![5 => Just(0u16), 1 => any::<u16>()];
    let time = prop_oneof![3 => 0..100u64, 1 => 0..1u64 << 40];
    (time, thread, domain, kind()).prop_map(|(time, thread, domain, kind)| Record {
        time: START.0 + time,
        thread,
        domain,
        kind,
    })
}

/// What happens between two events.
#[derive(Clone, Copy, Debug)]
enum Pause {
    None,
    Flush,
    Checkpoint,
}

fn pause() -> impl Strategy<Value = Pause> {
    prop_oneof![20 => Just(Pause::None), 1 => Just(Pause::Flush), 1 => Just(Pause::Checkpoint)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_events_are_read(all in prop::collection::vec((told(), pause()), 0..300)) {
        let mut writer = Writer::new(Vec::new(), &info()).unwrap();
        for (told, pause) in &all {
            write_to(&mut writer, told).unwrap();
            match pause {
                Pause::None => {}
                Pause::Flush => writer.flush(Timestamp(told.time)).unwrap(),
                Pause::Checkpoint => writer.checkpoint().unwrap(),
            }
        }
        let trace = writer.finish().unwrap();
        let mut reader = Reader::open(&trace[..]).unwrap();
        let read = read_from(&mut reader);
        prop_assert!(reader.is_complete());
        prop_assert_eq!(reader.damages(), &[]);
        prop_assert_eq!(read.len(), all.len());
        let facts = all.iter().filter_map(|(told, _)| match &told.kind {
            RecordKind::Fact(fact) => Some(fact.clone()),
            _ => None,
        });
        let closing = reader.index().unwrap().closing.clone().unwrap();
        let (told, expected) = (closing.facts.len(), of_all(facts));
        prop_assert_eq!(of_all(closing.facts.into_iter()), expected.clone());
        prop_assert_eq!(told, expected.len());
        for (read, (written, _)) in read.iter().zip(&all) {
            prop_assert_eq!(read, written);
        }
    }
}

/// A program whose blocks are born once and die at most once, in time.
pub fn lives() -> impl Strategy<Value = Vec<Record>> {
    let step = (0..200u64, 0..3u32, kind(), any::<prop::sample::Index>());
    prop::collection::vec(step, 0..300).prop_map(|steps| {
        let (mut all, mut living, mut time, mut next) = (Vec::new(), Vec::new(), START.0, 0);
        for (wait, thread, mut kind, which) in steps {
            time += wait;
            match &mut kind {
                RecordKind::Fact(_) => {}
                RecordKind::Birth(birth) => {
                    birth.id = next;
                    living.push(next);
                    next += 1;
                }
                _ if living.is_empty() => continue,
                RecordKind::Promotion(id) => *id = living[which.index(living.len())],
                RecordKind::Collection(id) => *id = living.remove(which.index(living.len())),
            }
            all.push(Record { time, thread, domain: thread as u16 % 2, kind });
        }
        all
    })
}
