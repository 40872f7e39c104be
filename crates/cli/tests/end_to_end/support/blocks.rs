//! The blocks of an exact trace, one by one.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use lifetrace_trace::event::{Allocation, Event, Location};
use lifetrace_trace::ids::{AllocationId, LocationCode};

use super::reader::Reader;

/// The innermost frame of what a realloc added to a block.
const GROWTH: &str = "[realloc growth]";

/// A block, or what a realloc added to one.
#[derive(Clone, Debug)]
pub struct Block {
    pub words: u64,
    pub is_growth: bool,
    /// Whether it is alive at the end.
    pub is_live: bool,
    /// The innermost function called `hazard_…` in its backtrace.
    pub hazard: Option<Rc<str>>,
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
            Event::Promotion(id) => panic!("{id:?} has been promoted"),
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
        assert_eq!(allocation.samples, words.max(1), "all words of {:?} are hit", allocation.id);
        self.positions.insert(allocation.id, self.all.len());
        self.all.push(Block { words, is_growth: false, is_live: true, hazard: None });
    }

    fn name_last(&mut self, names: &Names) {
        if let (Some(block), Some(innermost)) = (self.all.last_mut(), names.stack.last()) {
            (block.is_growth, block.hazard) = (innermost.is_growth, innermost.hazard.clone());
        }
    }

    fn collect(&mut self, id: AllocationId) {
        let position = self.positions.remove(&id).unwrap_or_else(|| panic!("{id:?} was not alive"));
        self.all[position].is_live = false;
    }
}

/// The names that matter of the last backtrace, outermost frame first.
#[derive(Default)]
struct Names {
    known: HashMap<LocationCode, Frame>,
    stack: Vec<Frame>,
}

#[derive(Clone, Default)]
struct Frame {
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
            let found = self.known.entry(code).or_insert_with(|| Frame::of(locations(code)));
            let outer = self.stack.last().and_then(|frame| frame.hazard.clone());
            let hazard = found.hazard.clone().or(outer);
            self.stack.push(Frame { is_growth: found.is_growth, hazard });
        }
    }
}

impl Frame {
    fn of(locations: &[Location]) -> Frame {
        let names = || locations.iter().rev().map(|location| &*location.defname);
        Frame { is_growth: names().eq([GROWTH]), hazard: names().find_map(hazard_name) }
    }
}

/// `hazard_x` of `hazard_x`, `program::hazard_x` and `hazard_x(unsigned long)`.
fn hazard_name(function: &str) -> Option<Rc<str>> {
    let path = function.split(['(', '<']).next()?;
    let name = path.rsplit("::").next()?;
    name.starts_with("hazard_").then(|| name.into())
}
