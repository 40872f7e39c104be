//! The blocks of an exact trace, one by one.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use lifetrace_trace::event::{Allocation, Event, Location, Source};
use lifetrace_trace::ids::{AllocationId, LocationCode};

use super::reader::Reader;

/// The innermost frame of what a realloc added to a block.
const GROWTH: &str = "[realloc growth]";

/// A block, or what a realloc added to one.
#[derive(Clone, Debug)]
pub struct Block {
    pub words: u64,
    pub source: Source,
    pub is_growth: bool,
    pub is_promoted: bool,
    /// Whether it is alive at the end.
    pub is_live: bool,
    /// The innermost function called `hazard_…` in its backtrace.
    pub hazard: Option<Rc<str>>,
}

impl Block {
    /// What the sampler can hit: the words and, in a collector's heap, the header.
    pub fn units(&self) -> u64 {
        units(self.words, self.source)
    }
}

fn units(words: u64, source: Source) -> u64 {
    match source {
        Source::Minor | Source::Major => words + 1,
        Source::External => words.max(1),
    }
}

/// All blocks of a trace, in the order in which they were born.
///
/// # Panics
/// If the trace is damaged, or is not one in which everything was sampled.
pub fn of(trace: &Path) -> Vec<Block> {
    let mut reader = Reader::open(trace);
    assert_eq!(reader.info().sample_rate, 1.0, "{}", trace.display());
    let mut blocks = Blocks::default();
    let mut names = Names::default();
    while let Some(step) = reader.next() {
        let Some((_, event)) = step else { continue };
        match event {
            Event::Collection(id) => blocks.collect(id),
            Event::Promotion(id) => blocks.promote(id),
            Event::Allocation(allocation) => {
                let shared = allocation.common_prefix;
                blocks.allocate(&allocation);
                let fresh = allocation.backtrace[shared..].to_vec();
                names.follow(shared, &fresh, |code| reader.locations(code));
                blocks.name_last(&names);
            }
        }
    }
    blocks.all
}

/// The blocks so far.
#[derive(Default)]
struct Blocks {
    all: Vec<Block>,
    positions: HashMap<AllocationId, usize>,
}

impl Blocks {
    fn allocate(&mut self, allocation: &Allocation<'_>) {
        let words = allocation.length.0;
        let (id, source) = (allocation.id, allocation.source);
        let hits = allocation.samples + u64::from(id.0 == 0 && begins_late(allocation));
        let hits = if is_mapping(allocation) { words } else { hits };
        assert_eq!(hits, units(words, source), "all words of {id:?} are hit");
        self.positions.insert(id, self.all.len());
        let (is_growth, is_promoted, is_live) = (false, false, true);
        self.all.push(Block { words, source, is_growth, is_promoted, is_live, hazard: None });
    }

    fn name_last(&mut self, names: &Names) {
        if let (Some(block), Some(innermost)) = (self.all.last_mut(), names.stack.last()) {
            (block.is_growth, block.hazard) = (innermost.is_growth, innermost.hazard.clone());
        }
    }

    fn promote(&mut self, id: AllocationId) {
        let position = self.positions.get(&id).unwrap_or_else(|| panic!("{id:?} is not alive"));
        let block = &mut self.all[*position];
        assert!(!block.is_promoted, "{id:?} has been promoted twice");
        block.is_promoted = true;
    }

    fn collect(&mut self, id: AllocationId) {
        let position = self.positions.remove(&id).unwrap_or_else(|| panic!("{id:?} was not alive"));
        self.all[position].is_live = false;
    }
}

/// Of a mapping all bytes are hit, and they are whole pages.
fn is_mapping(allocation: &Allocation<'_>) -> bool {
    const PAGE: u64 = 4096;
    let bytes = allocation.length.0 * 8;
    allocation.samples == bytes && bytes.is_multiple_of(PAGE)
}

/// The sampler of OCaml 4.11 passes over the first word of all, a header.
fn begins_late(first: &Allocation<'_>) -> bool {
    let is_that = std::env::var("LIFETRACE_OCAML_VERSION").is_ok_and(|version| version == "4.11");
    is_that && first.samples == first.length.0
}

/// The names that matter of the last backtrace, outermost frame first.
#[derive(Default)]
struct Names {
    known: HashMap<LocationCode, HazardFrame>,
    stack: Vec<HazardFrame>,
}

#[derive(Clone, Default)]
struct HazardFrame {
    is_growth: bool,
    /// Of this frame; on the stack, of the innermost so far.
    hazard: Option<Rc<str>>,
}

impl Names {
    /// Goes to another backtrace, of which so many outermost frames are those of the last one.
    fn follow<'a>(
        &mut self,
        shared: usize,
        fresh: &[LocationCode],
        locations: impl Fn(LocationCode) -> &'a [Location],
    ) {
        self.stack.truncate(shared);
        for &code in fresh {
            let found = self.known.entry(code).or_insert_with(|| HazardFrame::of(locations(code)));
            let outer = self.stack.last().and_then(|frame| frame.hazard.clone());
            let hazard = found.hazard.clone().or(outer);
            self.stack.push(HazardFrame { is_growth: found.is_growth, hazard });
        }
    }
}

impl HazardFrame {
    fn of(locations: &[Location]) -> HazardFrame {
        let names = || locations.iter().rev().map(|location| &*location.defname);
        HazardFrame { is_growth: names().eq([GROWTH]), hazard: names().find_map(hazard_name) }
    }
}

/// `hazard_x` of `hazard_x`, `program::hazard_x`, `hazard_x(unsigned long)`, and of OCaml's
/// `Program.hazard_x`, `Program.outer.hazard_x.(fun)` and `Program.class#hazard_x`.
fn hazard_name(function: &str) -> Option<Rc<str>> {
    let path = function.split(['(', '<']).next()?;
    let name = path.rsplit("::").next()?;
    name.rsplit(['.', '#']).find(|part| part.starts_with("hazard_")).map(Rc::from)
}
