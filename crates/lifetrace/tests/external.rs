//! Memory that no allocator sees.

mod support;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use lifetrace::tracker::{Allocation, Release, Source, Tracker, untracked};
use lifetrace::{Alloc, Recording, Token, external};
use lifetrace_trace::fact::Fact;
use support::{Trace, turn};

#[global_allocator]
static ALLOC: Alloc = Alloc::system();

#[inline(never)]
fn textures(count: usize, bytes: usize) -> Vec<Token> {
    (0..count).map(|_| std::hint::black_box(external("gpu", bytes))).collect()
}

#[inline(never)]
fn mapped_files() -> Token {
    external("files", 12_345)
}

/// Blocks, those alive, bytes.
fn heard<'a>(trace: &'a Trace, kind: &'a str) -> (usize, usize, u64) {
    let blocks =
        trace.blocks.iter().filter(|block| block.functions.last().is_some_and(|it| it == kind));
    let blocks: Vec<_> = blocks.collect();
    let live = blocks.iter().filter(|block| block.is_live).count();
    (blocks.len(), live, blocks.iter().map(|block| block.bytes).sum())
}

#[test]
fn at_interval_1_the_trace_has_them_all() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("external.lt");
    let before = textures(3, 100);
    for _ in 0..2 {
        let recording = Recording::new(&path).interval(1).overwrite(true);
        let session = recording.start().unwrap();
        let mut textures = textures(20, 1 << 20);
        let _nothing = external("gpu", 0);
        let files = mapped_files();
        files.promote();
        textures.truncate(5);
        std::thread::spawn(move || drop(textures.pop())).join().unwrap();
        session.stop().unwrap();
        let trace = Trace::read(&path);
        assert_eq!(heard(&trace, "[files]"), (1, 1, 12_345));
        // The five that were left went with the thread, one of them first.
        assert_eq!(heard(&trace, "[gpu]"), (20, 0, 20 << 20));
        let of_textures = trace.by("textures").filter(|block| block.bytes == 1 << 20);
        assert_eq!(of_textures.count(), 20);
        let file = trace.by("mapped_files").next().unwrap();
        // The one between is inlined.
        let names = &file.functions[file.functions.len() - 3..];
        assert!(names[0].ends_with("mapped_files") && names[2] == "[files]", "{names:?}");
        assert_eq!(trace.promotions, 1);
        // Each kind has a sampler that is called so.
        let names = trace.facts.iter().filter_map(|fact| match fact {
            Fact::Sampler(sampler) => Some((sampler.id.0, &*sampler.name, sampler.rate)),
            _ => None,
        });
        let names: Vec<_> = names.collect();
        assert_eq!(names, [(0, "malloc", 1.0), (1, "gpu", 1.0), (2, "files", 1.0)]);
        assert_eq!(file.sampler, 2);
    }
    drop(before);
}

#[test]
fn what_is_given_back_once_the_session_ends_is_no_loss() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("end.lt");
    for _ in 0..5 {
        let session = Recording::new(&path).interval(1).overwrite(true).start().unwrap();
        let mut tokens = textures(100_000, 100);
        let (begun, wait) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            tokens.truncate(99_000);
            begun.send(()).unwrap();
            drop(tokens);
        });
        wait.recv().unwrap();
        let summary = session.stop().unwrap();
        assert_eq!(summary.lost, []);
        other.join().unwrap();
    }
}

#[test]
fn estimates_are_true() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("estimate.lt");
    let session = Recording::new(&path).interval(64 << 10).seed(5).start().unwrap();
    drop(textures(100_000, 1000));
    session.stop().unwrap();
    let trace = Trace::read(&path);
    let (estimate, deviation) = trace.estimate("[gpu]");
    let off = (estimate - 100_000_000.0).abs() / deviation;
    assert!(off < 4.0, "{estimate}, {off} standard deviations");
}

#[derive(Default)]
struct ByKind(Mutex<HashMap<&'static str, (usize, usize, usize)>>);

impl Tracker for ByKind {
    type Meta = (&'static str, usize);

    fn alloc(&self, allocation: &Allocation) -> Option<Self::Meta> {
        let Source::External(kind) = allocation.source else { return None };
        let mut kinds = self.0.lock().unwrap();
        kinds.entry(kind).or_default().0 += allocation.size;
        Some((kind, allocation.size))
    }

    fn promote(&self, (kind, bytes): Self::Meta) -> Option<Self::Meta> {
        self.0.lock().unwrap().entry(kind).or_default().1 += bytes;
        Some((kind, bytes))
    }

    fn free(&self, (kind, bytes): Self::Meta, _: &Release) {
        self.0.lock().unwrap().entry(kind).or_default().2 += bytes;
    }
}

#[test]
fn trackers_hear_of_them() {
    let _turn = turn();
    let by_kind = Arc::new(ByKind::default());
    let session = Recording::only(Arc::clone(&by_kind)).interval(1).start().unwrap();
    let files = mapped_files();
    files.promote();
    drop(textures(10, 7));
    let now = untracked(|| by_kind.0.lock().unwrap().clone());
    assert_eq!(now["gpu"], (70, 0, 70));
    assert_eq!(now["files"], (12_345, 12_345, 0));
    drop(files);
    assert_eq!(untracked(|| by_kind.0.lock().unwrap()["files"]), (12_345, 12_345, 12_345));
    session.stop().unwrap();
}

/// Last by its name: it takes all the room that there is.
#[test]
fn what_there_is_no_room_for_is_other() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.lt");
    let session = Recording::new(&path).interval(1).start().unwrap();
    drop(textures(1, 1));
    for number in 0..5000 {
        let name: &'static str = Box::leak(format!("kind {number}").into_boxed_str());
        drop(external(name, 8));
    }
    drop(textures(1, 1));
    session.stop().unwrap();
    let trace = Trace::read(&path);
    assert_eq!(heard(&trace, "[gpu]").0, 2);
    assert_eq!(heard(&trace, "[kind 0]").0, 1);
    let others = heard(&trace, "[other]").0;
    assert!((904..920).contains(&others), "{others}");
}
