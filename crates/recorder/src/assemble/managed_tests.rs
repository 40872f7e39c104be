//! What a managed runtime's agent says, beside what malloc's does, and what a reader of a `.lt` trace
//! sees of it.

use lifetrace_trace::event::{Event, Source};
use lifetrace_trace::frame;
use lifetrace_trace::ids::{LocationCode, SamplerId, Size, Words};
use lifetrace_trace::lt::{Item, Reader};
use lifetrace_transport::message::{FRAMES_LEFT_OUT, FrameKind, FrameName, Frames, MANAGED_FRAME};
use lifetrace_transport::sources::Sources;

use super::tests::{Output, Scene};
use super::*;
use crate::samplers::tests::{BOTH, OCAML};
use crate::sink::Lt;

/// A birth, and the names in its backtrace, outermost first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) size: Size,
    pub(super) source: Source,
    pub(super) sampler: u8,
    pub(super) names: String,
}

pub(super) fn scene(sources: Sources) -> Scene {
    Scene::with(sources, |output: Output, info| {
        Box::new(Lt::begin(output, info, u64::MAX).unwrap())
    })
}

impl Scene {
    /// `fresh` is innermost first.
    pub(super) fn born(
        &mut self,
        thread: u32,
        id: u64,
        source: SourceKind,
        shared: u32,
        fresh: &[u64],
    ) {
        self.born_by(AllocationKind::Plain, thread, id, source, shared, fresh);
    }

    pub(super) fn born_by(
        &mut self,
        kind: AllocationKind,
        thread: u32,
        id: u64,
        source: SourceKind,
        shared: u32,
        fresh: &[u64],
    ) {
        let backtrace = BacktraceDelta { shared, fresh: Frames::Words(fresh), truncated: false };
        let (id, size) = (SampleId(id), 24);
        self.say(thread, Body::Allocation { id, size, samples: 1, source, kind, backtrace });
    }

    /// Names a frame for a function, and for others that are inlined there.
    pub(super) fn named(&mut self, frame: u64, functions: &[&str]) {
        for (index, function) in functions.iter().enumerate() {
            self.say(
                1,
                Body::FrameName(FrameName {
                    frame,
                    kind: FrameKind::default(),
                    is_first: index == 0,
                    is_last: index + 1 == functions.len(),
                    line: 10,
                    start_char: 2,
                    end_char: 8,
                    function: function.as_bytes(),
                    file: b"a.ml",
                }),
            );
        }
    }

    pub(super) fn seen(self) -> Vec<Seen> {
        let trace = self.trace();
        let mut reader = Reader::open(&trace[..]).unwrap();
        let mut births: Vec<(Seen, Vec<LocationCode>)> = Vec::new();
        while let Some((_, item)) = reader.next().unwrap() {
            let Item::Event(Event::Allocation(allocation)) = item else { continue };
            let (source, backtrace) = (allocation.source, allocation.backtrace.to_vec());
            let birth = reader.birth().unwrap();
            let (size, SamplerId(sampler)) = (birth.size, birth.sampler);
            births.push((Seen { size, source, sampler, names: String::new() }, backtrace));
        }
        assert_eq!(reader.damages(), []);
        for (seen, backtrace) in &mut births {
            let locations =
                backtrace.iter().flat_map(|&code| &reader.frame(code).unwrap().locations);
            let names: Vec<_> = locations.map(|it| it.defname.to_string()).collect();
            seen.names = names.join(" ");
        }
        births.into_iter().map(|(seen, _)| seen).collect()
    }

    pub(super) fn names_seen(self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.names).collect()
    }
}

pub(super) fn frame(number: u64) -> u64 {
    MANAGED_FRAME | number
}

#[test]
fn a_threads_managed_backtraces_are_differences_to_each_other() {
    let mut scene = scene(BOTH);
    scene.named(1, &["A.main"]);
    scene.named(2, &["A.loop", "A.body"]);
    scene.born(1, 0, SourceKind::Minor, 0, &[frame(2), frame(1)]);
    scene.born(1, 1, SourceKind::Malloc, 0, &[0x13, 0x12, 0x11]);
    scene.born(1, 2, SourceKind::Major, 1, &[]);
    scene.born(1, 3, SourceKind::Malloc, 2, &[0x15]);
    scene.born(1, 4, SourceKind::External, 1, &[frame(2), 0x31]);
    let expected = [
        "A.main A.loop A.body",
        "0x10 0x11 0x12",
        "A.main",
        "0x10 0x11 0x14",
        "A.main 0x30 A.loop A.body",
    ];
    assert_eq!(scene.names_seen(), expected);
}

#[test]
fn both_backtraces_of_a_thread_end_with_it() {
    for end in [Body::ThreadEnded, Body::ThreadStarted { os_id: 7 }] {
        let mut scene = scene(BOTH);
        scene.named(1, &["A.main"]);
        scene.born(1, 0, SourceKind::Minor, 0, &[frame(1), frame(1)]);
        scene.born(1, 1, SourceKind::Malloc, 0, &[0x12, 0x11]);
        scene.say(1, end);
        scene.born(1, 2, SourceKind::Minor, 1, &[]);
        scene.born(1, 3, SourceKind::Malloc, 1, &[]);
        let cut = "[truncated backtrace]";
        assert_eq!(scene.names_seen(), ["A.main A.main", "0x10 0x11", cut, cut]);
    }
}

#[test]
fn each_source_has_its_sampler_and_its_unit() {
    const SOURCES: [SourceKind; 4] =
        [SourceKind::Malloc, SourceKind::Minor, SourceKind::Major, SourceKind::External];
    let mut scene = scene(BOTH);
    for (id, source) in SOURCES.into_iter().enumerate() {
        scene.born(1, id as u64, source, 0, &[0x11]);
    }
    let (bytes, words) = (Size::Bytes(Bytes(24)), Size::Words(Words(3)));
    let seen = |size, source, sampler| Seen { size, source, sampler, names: "0x10".into() };
    let expected = [
        seen(bytes, Source::External, 0),
        seen(words, Source::Minor, 1),
        seen(words, Source::Major, 1),
        seen(words, Source::External, 1),
    ];
    assert_eq!(scene.seen(), expected);
    let mut alone = self::scene(OCAML);
    alone.born(1, 0, SourceKind::Minor, 0, &[0x11]);
    assert_eq!(alone.seen(), [seen(words, Source::Minor, 0)]);
}

#[test]
fn frames_that_are_left_out_and_frames_without_a_name_are_shown_as_such() {
    let mut scene = scene(OCAML);
    scene.named(1, &["A.main"]);
    scene.born(1, 0, SourceKind::Minor, 0, &[frame(9), FRAMES_LEFT_OUT, frame(1)]);
    scene.born(1, 1, SourceKind::Minor, 2, &[frame(1)]);
    let left_out = "A.main [frames left out]";
    let expected = [format!("{left_out} [unnamed frame 9]"), format!("{left_out} A.main")];
    assert_eq!(scene.names_seen(), expected);
}

#[test]
fn what_was_deserialised_has_one_more_frame_and_leaves_the_next_backtrace_alone() {
    let mut scene = scene(OCAML);
    scene.named(1, &["Marshal.from_channel"]);
    let minor = SourceKind::Minor;
    scene.born(1, 0, minor, 0, &[frame(1)]);
    scene.born_by(AllocationKind::Deserialised, 1, 1, minor, 1, &[]);
    scene.born_by(AllocationKind::Deserialised, 1, 2, minor, 1, &[]);
    scene.born(1, 3, minor, 1, &[]);
    let (plain, marked) = ("Marshal.from_channel", "Marshal.from_channel [deserialised]");
    assert_eq!(scene.names_seen(), [plain, marked, marked, plain]);
}

#[test]
fn frames_keep_their_names_when_places_are_renewed() {
    let mut scene = scene(BOTH);
    scene.named(1, &["A.main"]);
    scene.named(2, &["A.late"]);
    scene.born(1, 0, SourceKind::Minor, 0, &[frame(1)]);
    for id in 1..140_000 {
        scene.born(2, id, SourceKind::Malloc, 0, &[0x10_0001 + id * 16]);
    }
    scene.born(1, 200_000, SourceKind::Minor, 1, &[frame(2)]);
    scene.born(1, 200_001, SourceKind::Minor, 0, &[frame(2), frame(1)]);
    let names = scene.names_seen();
    assert_eq!(names[0], "A.main");
    assert_eq!(names[names.len() - 2..], ["A.main A.late", "A.main A.late"]);
}

#[test]
fn managed_frames_are_ocaml_and_others_are_not() {
    let mut scene = scene(OCAML);
    scene.named(1, &["A.main"]);
    scene.born(1, 0, SourceKind::Minor, 0, &[0x21, frame(1)]);
    let trace = scene.trace();
    let mut reader = Reader::open(&trace[..]).unwrap();
    let Some((_, Item::Event(Event::Allocation(allocation)))) = reader.next().unwrap() else {
        panic!("no birth")
    };
    let backtrace = allocation.backtrace.to_vec();
    let frames: Vec<_> = backtrace.iter().map(|&code| reader.frame(code).unwrap()).collect();
    assert_eq!(frames[0].kind, frame::FrameKind::OCaml);
    assert_eq!(frames[0].locations[0].line, 10);
    assert_ne!(frames[1].kind, frame::FrameKind::OCaml);
}
