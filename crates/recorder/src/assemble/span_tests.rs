//! What programs say of themselves: kinds of memory, and what threads are at.

use lifetrace_transport::message::{Frames, MemoryKind, SPAN_FRAME};
use proptest::prelude::*;

use super::managed_tests::{frame, scene};
use super::tests::Scene;
use super::*;
use crate::samplers::tests::{BOTH, NATIVE};

const MALLOC: SourceKind = SourceKind::Malloc;

fn kind(number: u16) -> MemoryKind {
    MemoryKind::new(number).unwrap()
}

impl Scene {
    /// `path` is innermost first.
    fn at(&mut self, thread: u32, path: &[u64]) {
        let path: Vec<u64> = path.iter().map(|number| frame(SPAN_FRAME | number)).collect();
        self.say(thread, Body::Context { frames: Frames::Words(&path) });
    }
}

#[test]
fn a_kind_is_the_innermost_frame_and_a_sampler() {
    let mut scene = scene(NATIVE);
    scene.named(kind(7).frame(), &["[gpu]"]);
    scene.born(1, 0, MALLOC, 0, &[0x12, 0x11]);
    scene.born_by(AllocationKind::Outside(kind(7)), 1, 1, MALLOC, 2, &[]);
    scene.born_by(AllocationKind::Outside(kind(8)), 1, 2, MALLOC, 2, &[]);
    scene.born(1, 3, MALLOC, 2, &[]);
    let seen = scene.seen();
    let seen: Vec<_> = seen.iter().map(|seen| (&*seen.names, seen.sampler)).collect();
    let plain = "0x10 0x11";
    let unnamed = format!("[unnamed frame {}]", kind(8).frame());
    let second = format!("{plain} {unnamed}");
    assert_eq!(seen, [(plain, 0), ("0x10 0x11 [gpu]", 1), (&second, 2), (plain, 0)]);
}

#[test]
fn what_a_thread_is_at_is_outside_of_all_frames_but_the_mark_of_what_is_cut() {
    let mut scene = scene(BOTH);
    scene.named(SPAN_FRAME | 5, &["request"]);
    scene.named(SPAN_FRAME | 6, &["load"]);
    scene.named(1, &["A.main"]);
    scene.born(1, 0, MALLOC, 0, &[0x12, 0x11]);
    scene.at(1, &[6, 5]);
    scene.born(1, 1, MALLOC, 1, &[0x13]);
    scene.born(1, 2, MALLOC, 2, &[]);
    // Not other threads', nor a managed runtime's.
    scene.born(2, 3, MALLOC, 0, &[0x11]);
    scene.born(1, 4, SourceKind::Minor, 0, &[frame(1)]);
    scene.born_by(AllocationKind::Growth, 1, 5, MALLOC, 1, &[]);
    scene.at(1, &[5]);
    scene.born(1, 6, MALLOC, 1, &[]);
    scene.at(1, &[]);
    scene.born(1, 7, MALLOC, 1, &[0x14]);
    scene.at(1, &[5]);
    scene.say(1, Body::ThreadEnded);
    scene.born(1, 8, MALLOC, 1, &[0x15]);
    scene.at(1, &[5]);
    scene.born(1, 9, MALLOC, 1, &[0x15]);
    let expected = [
        "0x10 0x11",
        "request load 0x10 0x12",
        "request load 0x10 0x12",
        "0x10",
        "A.main",
        "request load 0x10 [realloc growth]",
        "request 0x10",
        "0x10 0x13",
        "[truncated backtrace] 0x14",
        "[truncated backtrace] request 0x14 0x14",
    ];
    let mut seen = scene.names_seen();
    // The last thread shares a frame with what it said before.
    let last = seen.pop().unwrap();
    assert!(last == expected[9] || last == "[truncated backtrace] request 0x14", "{last}");
    assert_eq!(seen, expected[..9]);
}

/// A step of a thread: where it is from now on, or a block that shares so many outermost frames with its
/// last one, and has so many others.
#[derive(Clone, Debug)]
enum Step {
    At(Vec<u64>),
    Born { shared: usize, fresh: Vec<u64> },
}

fn step() -> impl Strategy<Value = (u32, Step)> {
    let path = prop::collection::vec(0..4u64, 0..4).prop_map(Step::At);
    let fresh = prop::collection::vec(0x11..0x20u64, 0..4);
    let born = (0..4usize, fresh).prop_map(|(shared, fresh)| Step::Born { shared, fresh });
    (1..3u32, prop_oneof![1 => path, 3 => born])
}

proptest! {
    /// The trace's writer believes what it is told of common prefixes: were it wrong, names would be.
    #[test]
    fn the_naive_twin_agrees(steps in prop::collection::vec(step(), 1..60)) {
        let mut scene = scene(NATIVE);
        (0..4).for_each(|number| scene.named(SPAN_FRAME | number, &[&format!("s{number}")]));
        let mut paths: FxHashMap<u32, Vec<u64>> = FxHashMap::default();
        let mut stacks: FxHashMap<u32, Vec<u64>> = FxHashMap::default();
        let mut expected = Vec::new();
        for (number, (thread, step)) in steps.into_iter().enumerate() {
            let (path, stack) = (paths.entry(thread).or_default(), stacks.entry(thread).or_default());
            match step {
                Step::At(at) => {
                    scene.at(thread, &at);
                    *path = at;
                }
                Step::Born { shared, fresh } => {
                    let shared = shared.min(stack.len());
                    scene.born(thread, number as u64, MALLOC, shared as u32, &fresh);
                    stack.truncate(shared);
                    stack.extend(fresh.iter().rev());
                    let said = path.iter().rev().map(|number| format!("s{number}"));
                    let code = stack.iter().map(|address| format!("{:#x}", address - 1));
                    expected.push(said.chain(code).collect::<Vec<_>>().join(" "));
                }
            }
        }
        prop_assert_eq!(scene.names_seen(), expected);
    }
}
