//! What agents say of pages, and what a reader of a `.lt` trace sees of it.

use lifetrace_trace::event::Source;
use lifetrace_trace::ids::Size;
use lifetrace_transport::message::{Frames, Place, Step};
use lifetrace_transport::sources::{Source as Wanted, Sources};

use super::managed_tests::{Seen, frame, scene};
use super::tests::Scene;
use super::*;
use crate::samplers::tests::{NATIVE, OCAML};

const PAGE: u64 = 4096;
const ALONE: Sources = Sources::NONE.with(Wanted::mappings());

impl Scene {
    /// `fresh` is innermost first.
    fn step(&mut self, thread: u32, step: Step, pages: [u64; 2], fresh: &[u64]) {
        let backtrace = BacktraceDelta { shared: 0, fresh: Frames::Words(fresh), truncated: false };
        let pages = Place::new(pages[0] * PAGE, pages[1] * PAGE);
        self.say(thread, Body::Pages { step, pages, backtrace });
    }

    fn counts(&self) -> Vec<u64> {
        self.assembler.mappings.counts().into_iter().map(|count| count.value).collect()
    }
}

/// A birth of so many pages.
fn birth(pages: u64, sampler: u8, names: &str) -> Seen {
    let size = Size::Bytes(Bytes(pages * PAGE));
    Seen { size, source: Source::External, sampler, names: names.into() }
}

#[test]
fn mappings_are_born_and_die() {
    let mut scene = scene(ALONE);
    scene.step(1, Step::Mapped, [10, 8], &[0x12, 0x11]);
    scene.step(2, Step::Mapped, [30, 2], &[0x22]);
    scene.step(2, Step::Unmapped, [12, 2], &[]);
    scene.step(1, Step::Lifted, [30, 2], &[]);
    scene.step(1, Step::Landed, [50, 3], &[0x13]);
    assert_eq!(scene.counts(), [9 * PAGE, 4, 0, 0, 0, 0, 0]);
    let expected = [
        birth(8, 0, "0x10 0x11"),
        birth(2, 0, "0x21"),
        birth(2, 0, "0x10 0x11 [rest of a mapping]"),
        birth(4, 0, "0x10 0x11 [rest of a mapping]"),
        birth(1, 0, "0x12 [realloc growth]"),
    ];
    assert_eq!(scene.assembler.counts().events, 6);
    assert_eq!(scene.seen(), expected);
}

#[test]
fn what_is_reserved_is_memory_when_it_is_opened() {
    let mut scene = scene(ALONE);
    scene.step(1, Step::Reserved, [0, 100], &[]);
    scene.step(1, Step::Opened, [90, 20], &[0x11]);
    assert_eq!(scene.counts(), [10 * PAGE, 1, 0, 0, 0, 0, 90 * PAGE]);
    // It is open.
    scene.step(1, Step::Opened, [90, 20], &[0x12]);
    assert_eq!(scene.seen(), [birth(10, 0, "0x10")]);
}

#[test]
fn what_the_system_refuses_to_unmap_is_still_there() {
    let mut scene = scene(ALONE);
    scene.step(1, Step::Mapped, [10, 8], &[0x11]);
    scene.step(1, Step::Unmapped, [10, 8], &[]);
    scene.step(2, Step::StillMapped, [0, 0], &[]);
    assert_eq!(scene.counts()[0], 0);
    scene.step(1, Step::StillMapped, [0, 0], &[]);
    assert_eq!(scene.counts()[0], 8 * PAGE);
}

fn arenas(sources: Sources) -> (Vec<u64>, Vec<Seen>) {
    let mut scene = scene(sources);
    for (number, name) in [(1, "je_pages_map"), (2, "caml_mem_map"), (3, "main")] {
        scene.named(number, &[name]);
    }
    scene.step(1, Step::Mapped, [10, 8], &[frame(1), frame(3)]);
    scene.step(1, Step::Mapped, [20, 4], &[frame(2), frame(3)]);
    scene.step(1, Step::Mapped, [30, 2], &[frame(3)]);
    (scene.counts(), scene.seen())
}

#[test]
fn arenas_count_unless_their_blocks_do() {
    let of_malloc = |sampler| birth(8, sampler, "main je_pages_map [arena of jemalloc]");
    let of_ocaml = |sampler| birth(4, sampler, "main caml_mem_map [arena of OCaml]");
    let (counts, seen) = arenas(ALONE);
    assert_eq!(seen, [of_malloc(1), of_ocaml(1), birth(2, 0, "main")]);
    assert_eq!(counts, [2 * PAGE, 1, 12 * PAGE, 2, 0, 0, 0]);
    let (counts, seen) = arenas(NATIVE.with(Wanted::mappings()));
    assert_eq!(seen, [of_ocaml(2), birth(2, 1, "main")]);
    assert_eq!(counts, [2 * PAGE, 1, 4 * PAGE, 1, 8 * PAGE, 1, 0]);
    let (counts, seen) = arenas(OCAML.with(Wanted::mappings()));
    assert_eq!(seen, [of_malloc(2), birth(2, 1, "main")]);
    assert_eq!(counts, [2 * PAGE, 1, 8 * PAGE, 1, 4 * PAGE, 1, 0]);
}

#[test]
fn an_allocator_that_is_not_heard_has_no_blocks_in_the_trace() {
    let mut scene = scene(NATIVE.with(Wanted::mappings()));
    scene.say(1, Body::Notice { code: b"own-allocator" });
    scene.named(1, &["je_pages_map"]);
    scene.step(1, Step::Mapped, [10, 8], &[frame(1)]);
    assert_eq!(scene.seen(), [birth(8, 2, "je_pages_map [arena of jemalloc]")]);
}

#[test]
fn a_block_after_a_mapping_has_its_own_backtrace() {
    let mut scene = scene(NATIVE.with(Wanted::mappings()));
    scene.born(1, 0, SourceKind::Malloc, 0, &[0x12, 0x11]);
    scene.step(1, Step::Mapped, [10, 8], &[0x32, 0x31]);
    scene.born(1, 1, SourceKind::Malloc, 1, &[0x14]);
    assert_eq!(scene.names_seen(), ["0x10 0x11", "0x30 0x31", "0x30 0x13"]);
}
