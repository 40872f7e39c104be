//! A trace of a managed runtime, made by a fixed rule: also a golden file. It has what was read, frames
//! that are left out, the heap's figures, collections that pass over numbers, and notices.

use lifetrace_trace::event::{DESERIALISED_NAME, LEFT_OUT_NAME, Source, remark};
use lifetrace_trace::fact::{Collector, Counters, Cycle, Fact, Generation, Process};
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_trace::ids::{AllocationId, Bytes, LocationCode, SamplerId, Size, Timestamp, Words};
use lifetrace_trace::lt::{Item, NewBirth, Reader, Writer};

use crate::support::{START, info};

const BIRTHS: u64 = 500;

/// Some figures are not always known.
fn collector(number: u64) -> Collector {
    Collector {
        minor_words: Some(number * 262_144),
        promoted_words: Some(number * 1000),
        major_words: (!number.is_multiple_of(3)).then_some(number * 1100),
        minor_collections: Some(number),
        major_collections: Some(number / 50),
        compactions: (number.is_multiple_of(100)).then_some(number / 100),
        heap_words: Some((1 << 20) - number * 7),
        top_heap_words: Some(1 << 20),
        young_heap_words: None,
        is_behind: number.is_multiple_of(40),
        has_samplers_share: number.is_multiple_of(100),
    }
}

fn facts(number: u64) -> Vec<Fact> {
    let cycle = |generation, number| Fact::Cycle(Cycle { generation, number, begins: false });
    let mut facts = vec![Fact::Collector(collector(number)), cycle(Generation::Minor, number)];
    match number {
        0 => facts.extend([process(), Fact::Notice("ocaml-domains-misreported".into())]),
        120 => facts.push(Fact::Counters(Counters {
            most_resident: Some(Bytes(5 << 20)),
            ..Counters::default()
        })),
        200 | 400 => facts.push(cycle(Generation::Major, number / 50)),
        _ => {}
    }
    facts
}

/// It is run by a link, and calls itself something else.
fn process() -> Fact {
    Fact::Process(Process {
        arguments: vec!["top".into()],
        executable: "/bin/toplevel".into(),
        name: "top".into(),
        title: "top: größer".into(),
        ..Process::default()
    })
}

fn frame(code: LocationCode) -> Frame {
    match code.0 {
        2 => vec![remark(DESERIALISED_NAME)].into(),
        3 => vec![remark(LEFT_OUT_NAME)].into(),
        number => Frame {
            locations: vec![remark(&format!("Module.function_{number}"))],
            kind: FrameKind::OCaml,
            module: None,
        },
    }
}

pub fn trace() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &info()).unwrap();
    for number in 0..BIRTHS {
        let time = Timestamp(START.0 + number * 500);
        if number % 20 == 0 {
            facts(number).iter().for_each(|fact| writer.fact(time, fact).unwrap());
        }
        let backtrace = [10, 3, 11 + number % 3, 2].map(LocationCode);
        let birth = NewBirth {
            size: Size::Words(Words(2 + number % 5)),
            samples: 1,
            source: [Source::Minor, Source::Major, Source::External][number as usize % 3],
            sampler: SamplerId(0),
            is_truncated: false,
            backtrace: &backtrace[..if number % 4 == 0 { 4 } else { 3 }],
            common_prefix: 0,
            id: None,
        };
        writer.birth(time, &birth, &mut frame).unwrap();
        if number % 7 == 6 {
            writer.collection(time, AllocationId(number - 3)).unwrap();
        }
    }
    writer.checkpoint().unwrap();
    // Differences begin anew.
    facts(BIRTHS)
        .iter()
        .for_each(|fact| writer.fact(Timestamp(START.0 + 1_000_000), fact).unwrap());
    writer.finish().unwrap()
}

#[test]
fn the_facts_come_back() {
    let trace = trace();
    let mut reader = Reader::open(&trace[..]).unwrap();
    let mut found = Vec::new();
    while let Some((_, item)) = reader.next().unwrap() {
        if let Item::Fact(fact) = item {
            found.push(fact);
        }
    }
    let expected: Vec<Fact> = (0..=BIRTHS).step_by(20).flat_map(facts).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_young_heap_has_a_size() {
    let some = |young_heap_words, is_behind| Collector {
        young_heap_words,
        is_behind,
        minor_words: Some(7),
        ..Collector::default()
    };
    let told = [some(Some(262_144), false), some(Some(0), true), some(None, true)];
    let mut writer = Writer::new(Vec::new(), &info()).unwrap();
    told.iter().for_each(|it| writer.fact(START, &Fact::Collector(*it)).unwrap());
    let trace = writer.finish().unwrap();
    let mut reader = Reader::open(&trace[..]).unwrap();
    for expected in told {
        let (_, item) = reader.next().unwrap().unwrap();
        assert!(matches!(item, Item::Fact(Fact::Collector(it)) if it == expected), "{item:?}");
    }
}

#[test]
fn figures_keep_their_order() {
    let figures: [Option<u64>; 9] = std::array::from_fn(|at| (at != 3).then_some(at as u64));
    assert_eq!(Collector::from(figures).figures(), figures);
    assert_eq!(Collector::from(figures).heap_words, Some(6));
}
