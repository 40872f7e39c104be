//! A runtime that is sampled by objects, beside malloc: what its agent says is told as its file in `runtimes` has it,
//! and nothing here is about OCaml.

use lifetrace_trace::event::{Event, Source};
use lifetrace_trace::fact::{Collector, Cycle, Fact, Generation, Process};
use lifetrace_trace::frame;
use lifetrace_trace::ids::{LocationCode, Size};
use lifetrace_trace::lt::{Item, Reader};
use lifetrace_transport::message::{Body, CollectorTotals, FrameKind, FrameName};
use lifetrace_transport::sources::SourceName;

use super::managed_tests::{frame, scene};
use super::tests::Scene;
use super::*;
use crate::samplers::tests::{FAKE, FAKE_AND_NATIVE};

const NAME: SourceName = SourceName::new("fake");

/// What a reader sees.
#[derive(Default)]
struct Seen {
    births: Vec<(Source, u8, Size)>,
    kinds: Vec<Vec<frame::FrameKind>>,
    promoted: Vec<AllocationId>,
    dead: Vec<AllocationId>,
    facts: Vec<Fact>,
}

fn seen(scene: Scene) -> Seen {
    let trace = scene.trace();
    let mut reader = Reader::open(&trace[..]).unwrap();
    let (mut seen, mut backtraces) = (Seen::default(), Vec::new());
    while let Some((_, item)) = reader.next().unwrap() {
        match item {
            Item::Event(Event::Allocation(birth)) => {
                let source = birth.source;
                backtraces.push(birth.backtrace.to_vec());
                let birth = reader.birth().unwrap();
                seen.births.push((source, birth.sampler.0, birth.size));
            }
            Item::Event(Event::Promotion(id)) => seen.promoted.push(id),
            Item::Event(Event::Collection(id)) => seen.dead.push(id),
            Item::Fact(fact) => seen.facts.push(fact),
        }
    }
    let kind = |code: &LocationCode| reader.frame(*code).unwrap().kind;
    seen.kinds = backtraces.iter().map(|codes| codes.iter().map(kind).collect()).collect();
    seen
}

fn name(scene: &mut Scene, number: u64, kind: u8) {
    let kind = FrameKind(kind);
    let (is_first, is_last) = (true, true);
    let (line, start_char, end_char) = (3, 0, 0);
    let (function, file) = (&b"Foo#bar"[..], &b"foo.rb"[..]);
    let frame = number;
    let name =
        FrameName { frame, kind, is_first, is_last, line, start_char, end_char, function, file };
    scene.say(1, Body::FrameName(name));
}

#[test]
fn blocks_have_bytes_and_the_sampler_of_their_source() {
    let mut scene = scene(FAKE_AND_NATIVE);
    for (id, source) in
        [SourceKind::Minor, SourceKind::Major, SourceKind::Malloc].iter().enumerate()
    {
        scene.born(1, id as u64, *source, 0, &[0x11]);
    }
    assert_eq!(scene.assembler.counts().allocated, 4 * 24 + 4 * 24 + 16);
    let bytes = Size::Bytes(Bytes(24));
    let expected =
        [(Source::Minor, 1, bytes), (Source::Major, 1, bytes), (Source::External, 0, bytes)];
    assert_eq!(seen(scene).births, expected);
    let mut alone = self::scene(FAKE);
    alone.born(1, 0, SourceKind::Minor, 0, &[0x11]);
    assert_eq!(seen(alone).births, [(Source::Minor, 0, bytes)]);
}

#[test]
fn frames_have_their_kinds_in_the_backtraces_of_malloc_too() {
    use frame::FrameKind::{Ruby, RubyNative, Unknown};
    let mut scene = scene(FAKE_AND_NATIVE);
    name(&mut scene, 1, 0);
    name(&mut scene, 2, 1);
    name(&mut scene, 3, 77);
    scene.born(1, 0, SourceKind::Minor, 0, &[frame(3), frame(2), frame(1)]);
    scene.born(1, 1, SourceKind::Malloc, 0, &[frame(2), frame(1), 0x11]);
    assert_eq!(seen(scene).kinds, [[Ruby, RubyNative, Unknown], [Unknown, Ruby, RubyNative]]);
}

#[test]
fn objects_are_promoted_and_die() {
    let mut scene = scene(FAKE_AND_NATIVE);
    for id in 0..3 {
        scene.born(1, id, SourceKind::Minor, 0, &[0x11]);
    }
    scene.say(1, Body::Promotion { id: SampleId(1) });
    scene.say(1, Body::Release { id: SampleId(2) });
    let seen = seen(scene);
    assert_eq!((seen.promoted, seen.dead), (vec![AllocationId(1)], vec![AllocationId(2)]));
}

#[test]
fn its_name_its_totals_and_its_notices_are_told() {
    let mut scene = scene(FAKE);
    let process = Process { runtime: "native".into(), ..Process::default() };
    scene.assembler.fact(MonotonicNanos(0), &Fact::Process(process)).unwrap();
    scene.say(1, Body::Runtime { name: NAME, blocks_are_mallocs: false, version: b"3.3" });
    for count in [5, 6] {
        let totals = CollectorTotals {
            runtime: NAME,
            minor_collections: Some(count),
            heap_words: Some(100),
            ..CollectorTotals::default()
        };
        scene.say(1, Body::from(&totals.to_bytes()));
    }
    for code in [&b"fake-sleepy"[..], b"no-such-notice"] {
        scene.say(1, Body::Notice { code });
    }
    scene.assembler.write_collector().unwrap();
    let facts = seen(scene).facts;
    let figures = |count| {
        let heap_words = Some(100);
        let minor_collections = Some(count);
        let is_behind = true;
        Fact::Collector(Collector { minor_collections, heap_words, is_behind, ..[None; 9].into() })
    };
    let cycle = Cycle { generation: Generation::Minor, number: 6, begins: false };
    let [Fact::Process(_), Fact::Process(process), rest @ ..] = &facts[..] else {
        panic!("{facts:?}")
    };
    assert_eq!((&*process.runtime, &*process.runtime_version), ("fake", "3.3"));
    let notice = Fact::Notice("fake-sleepy".into());
    assert_eq!(rest, [figures(5), Fact::Cycle(cycle), notice, figures(6)]);
}
