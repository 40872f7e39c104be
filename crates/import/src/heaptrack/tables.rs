//! What heaptrack's events refer to: strings, places in code, backtraces, and classes of blocks.
//!
//! Each table's entries are numbered from 1, in the order in which they come; 0 is none. Backtraces
//! are a tree: a node has its caller's node as its parent, and the innermost frame is the deepest.

use std::collections::VecDeque;
use std::mem::size_of;
use std::sync::Arc;

use lifetrace_trace::event::Location;
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_trace::ids::{AllocationId, LocationCode};

use super::super::budget::Budget;

/// Deeper backtraces are cut at their outermost end; heaptrack itself stops at 64.
const DEEPEST: u32 = 1 << 16;

/// More functions are never inlined into one; what comes after is left out.
const MOST_INLINED: usize = 254;

#[derive(Debug)]
pub struct Tables {
    strings: Vec<Arc<str>>,
    frames: Vec<Instruction>,
    nodes: Vec<Node>,
    classes: Vec<Class>,
    budget: Budget,
    /// The nodes of the backtrace where we are, outermost first, and their frames.
    path: Vec<u32>,
    codes: Vec<LocationCode>,
}

/// A place in machine code.
#[derive(Clone, Debug, Default)]
pub struct Instruction {
    /// In the memory of the process.
    pub address: u64,
    /// A string.
    pub module: u64,
    /// The innermost function first; each was inlined into the next.
    pub places: Vec<SourcePlace>,
    /// What our trace calls its module.
    pub module_number: Option<u32>,
}

/// A place in source code; names are strings' numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SourcePlace {
    pub function: u64,
    pub file: u64,
    pub line: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    frame: u32,
    parent: u32,
    depth: u32,
}

/// Blocks of one size from one backtrace, which heaptrack doesn't tell apart.
#[derive(Debug)]
pub struct Class {
    pub size: u64,
    pub node: u32,
    /// Oldest first.
    pub living: VecDeque<AllocationId>,
}

/// What cannot be: for people.
type Odd = String;

impl Tables {
    /// Empty tables that may take so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self {
            strings: Vec::new(),
            frames: Vec::new(),
            nodes: Vec::new(),
            classes: Vec::new(),
            budget: Budget::new(bytes),
            path: Vec::new(),
            codes: Vec::new(),
        }
    }

    pub fn add_string(&mut self, bytes: &[u8]) -> Result<(), Odd> {
        self.budget.take(bytes.len() + 2 * size_of::<Arc<str>>())?;
        self.strings.push(String::from_utf8_lossy(bytes).into());
        Ok(())
    }

    pub fn add_frame(&mut self, mut frame: Instruction) -> Result<(), Odd> {
        frame.places.truncate(MOST_INLINED);
        frame.places.shrink_to_fit();
        for number in frame.places.iter().flat_map(|place| [place.function, place.file]) {
            self.string(number)?;
        }
        self.string(frame.module)?;
        let places = frame.places.len() * size_of::<SourcePlace>();
        self.budget.take(size_of::<Instruction>() + places)?;
        self.frames.push(frame);
        Ok(())
    }

    pub fn add_node(&mut self, frame: u64, parent: u64) -> Result<(), Odd> {
        let frame = among(frame, self.frames.len(), "an instruction")?;
        let parent = among(parent, self.nodes.len(), "a backtrace")?;
        if frame == 0 {
            return Err("expected an instruction's number, found 0".into());
        }
        let depth = self.node(parent).map_or(0, |node| node.depth) + 1;
        if depth > DEEPEST {
            return Err(format!("expected a backtrace of at most {DEEPEST} frames"));
        }
        self.budget.take(size_of::<Node>())?;
        self.nodes.push(Node { frame, parent, depth });
        Ok(())
    }

    pub fn add_class(&mut self, size: u64, node: u64) -> Result<(), Odd> {
        let node = among(node, self.nodes.len(), "a backtrace")?;
        self.budget.take(size_of::<Class>())?;
        self.classes.push(Class { size, node, living: VecDeque::new() });
        Ok(())
    }

    /// Classes are numbered from 0.
    pub fn class(&self, number: u64) -> Result<&Class, Odd> {
        let count = self.classes.len();
        let found = usize::try_from(number).ok().and_then(|number| self.classes.get(number));
        found.ok_or_else(|| unknown("a class of blocks", number, count))
    }

    pub fn is_born(&mut self, number: u64, id: AllocationId) -> Result<(), Odd> {
        self.class(number)?;
        self.budget.take(size_of::<AllocationId>())?;
        self.classes[number as usize].living.push_back(id);
        Ok(())
    }

    /// The oldest of a class dies; nothing if none lives.
    pub fn dies(&mut self, number: u64) -> Result<Option<AllocationId>, Odd> {
        self.class(number)?;
        let living = &mut self.classes[number as usize].living;
        let oldest = living.pop_front();
        if oldest.is_some() {
            self.budget.give_back(size_of::<AllocationId>());
        }
        // Many classes are used once.
        if living.is_empty() {
            *living = VecDeque::new();
        }
        Ok(oldest)
    }

    /// The string of a number; nothing for 0.
    pub fn string(&self, number: u64) -> Result<Option<&Arc<str>>, Odd> {
        if number == 0 {
            return Ok(None);
        }
        let found = usize::try_from(number - 1).ok().and_then(|index| self.strings.get(index));
        found.map(Some).ok_or_else(|| unknown("a string", number, self.strings.len()))
    }

    /// Goes to a node. How many frames, from the outermost on, are those of where we were before.
    /// Costs what is new.
    pub fn follow(&mut self, node: u32) -> usize {
        let depth = self.node(node).map_or(0, |node| node.depth) as usize;
        let mut common = self.path.len().min(depth);
        self.path.resize(depth, 0);
        self.codes.resize(depth, LocationCode(0));
        let mut at = node;
        for place in (0..depth).rev() {
            if place < common && self.path[place] == at {
                break;
            }
            common = common.min(place);
            let Some(&Node { frame, parent, .. }) = self.node(at) else { break };
            self.path[place] = at;
            self.codes[place] = LocationCode(frame.into());
            at = parent;
        }
        common
    }

    /// The backtrace of where we are, outermost frame first.
    pub fn backtrace(&self) -> &[LocationCode] {
        &self.codes
    }

    /// What a frame stands for.
    pub fn frame(&self, code: LocationCode) -> Frame {
        let Some(known) = (code.0 as usize).checked_sub(1).and_then(|it| self.frames.get(it))
        else {
            return Frame::default();
        };
        let module = self.name(known.module).unwrap_or_else(|| "".into());
        let mut locations: Vec<_> =
            known.places.iter().rev().map(|place| self.location(place, known, &module)).collect();
        if locations.is_empty() {
            locations.push(self.location(&SourcePlace::default(), known, &module));
        }
        Frame { locations, kind: FrameKind::Native, module: known.module_number }
    }

    /// A function without a name is called by its address: all of them by one name would look like
    /// one function.
    fn location(&self, place: &SourcePlace, at: &Instruction, module: &Arc<str>) -> Location {
        let address = || format!("{:#x}", at.address).into();
        Location {
            filename: self.name(place.file).unwrap_or_else(|| module.clone()),
            line: u32::try_from(place.line).unwrap_or(0),
            start_char: 0,
            end_char: 0,
            defname: self.name(place.function).unwrap_or_else(address),
        }
    }

    fn name(&self, number: u64) -> Option<Arc<str>> {
        self.string(number).ok().flatten().cloned()
    }

    fn node(&self, number: u32) -> Option<&Node> {
        (number as usize).checked_sub(1).and_then(|index| self.nodes.get(index))
    }
}

/// A number that is one of so many, or 0.
fn among(number: u64, count: usize, what: &str) -> Result<u32, Odd> {
    let is_known = usize::try_from(number).is_ok_and(|number| number <= count);
    let small = u32::try_from(number).ok().filter(|_| is_known);
    small.ok_or_else(|| unknown(what, number, count))
}

fn unknown(what: &str, number: u64, count: usize) -> Odd {
    format!(
        "expected the number of {what} that was told before, found {number:x} (hexadecimal) of {count}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> Tables {
        let mut tables = Tables::new(1 << 20);
        for name in ["/lib/a.so", "main", "main.c", "inner", "inner.h"] {
            tables.add_string(name.as_bytes()).unwrap();
        }
        let place = |function, file, line| SourcePlace { function, file, line };
        let frames = [vec![place(2, 3, 10)], vec![place(4, 5, 7), place(2, 3, 12)], vec![]];
        for places in frames {
            let (address, module_number) = (0x55, Some(0));
            let frame = Instruction { address, module: 1, places, module_number };
            tables.add_frame(frame).unwrap();
        }
        tables
    }

    #[test]
    fn inlined_functions_come_after_what_they_are_in() {
        let tables = tables();
        let names = |code| {
            let frame = tables.frame(LocationCode(code));
            frame.locations.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>().join("; ")
        };
        assert!(names(1).contains("main.c") && names(1).contains("line: 10"));
        let both = names(2);
        assert!(both.find("line: 12").unwrap() < both.find("line: 7").unwrap());
        assert!(names(3).contains("\"0x55\"") && names(3).contains("\"/lib/a.so\""));
        assert_eq!(tables.frame(LocationCode(4)), Frame::default());
    }

    #[test]
    fn a_backtrace_tells_what_it_shares_with_the_one_before() {
        let mut tables = tables();
        // 1: a, 2: a b, 3: a b c, 4: a c, 5: b
        for (frame, parent) in [(1, 0), (2, 1), (3, 2), (3, 1), (2, 0)] {
            tables.add_node(frame, parent).unwrap();
        }
        let mut expect = |node, codes: &[u64], common| {
            let codes: Vec<_> = codes.iter().map(|code| LocationCode(*code)).collect();
            assert_eq!(tables.follow(node), common, "{node}");
            assert_eq!(tables.backtrace(), codes, "{node}");
        };
        expect(3, &[1, 2, 3], 0);
        expect(3, &[1, 2, 3], 3);
        expect(4, &[1, 3], 1);
        expect(3, &[1, 2, 3], 1);
        expect(1, &[1], 1);
        expect(2, &[1, 2], 1);
        expect(5, &[2], 0);
        expect(0, &[], 0);
        expect(2, &[1, 2], 0);
    }

    #[test]
    fn numbers_of_nothing_are_refused() {
        let mut tables = tables();
        assert!(tables.add_node(4, 0).unwrap_err().contains("found 4 (hexadecimal) of 3"));
        assert!(tables.add_node(0, 0).is_err());
        assert!(tables.add_node(1, 1).is_err());
        assert!(tables.add_class(8, 1).is_err());
        assert!(tables.is_born(0, AllocationId(0)).is_err());
        assert!(tables.dies(u64::MAX).is_err());
        let places = vec![SourcePlace { function: 6, file: 0, line: 0 }];
        assert!(tables.add_frame(Instruction { places, ..Instruction::default() }).is_err());
        assert!(tables.string(6).is_err() && tables.string(0) == Ok(None));
    }

    #[test]
    fn memory_is_bounded() {
        let mut tables = Tables::new(1000);
        tables.add_class(8, 0).unwrap();
        let born = (0..1000).take_while(|id| tables.is_born(0, AllocationId(*id)).is_ok()).count();
        assert!((100..125).contains(&born), "{born}");
        assert_eq!(tables.dies(0), Ok(Some(AllocationId(0))));
        tables.is_born(0, AllocationId(0)).unwrap();
        assert!(tables.add_string(&[b'x'; 100]).is_err());
    }
}
