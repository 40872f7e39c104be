//! A snapshot's tree: a line for each frame, with its bytes and how many callers follow, each with one
//! space more before it.
//!
//! ```text
//! n2: 300 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
//!  n1: 200 0x109163: grow (a.c:2)
//!   n0: 200 0x109172: main (a.c:9)
//!  n0: 100 in 7 places, all below massif's threshold (1.00%)
//! ```

use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use super::super::budget::Budget;
use super::super::fault::Fault;
use super::super::lines::{Line, Lines};

/// What the tables may take, in bytes.
const MEMORY: usize = 1 << 30;

/// The frame of callers that are not told one by one.
pub const BELOW: LocationCode = LocationCode(u64::MAX);

/// The frame of callers that are missing.
pub const TRUNCATED: LocationCode = LocationCode(u64::MAX - 1);

/// How the roots begin of trees that are about memory that lives.
const ROOTS: [&str; 2] = ["(heap allocation functions)", "(page allocation syscalls)"];

/// What lived, by backtrace.
#[derive(Debug)]
pub struct Tree {
    /// What the root is called.
    pub root: String,
    /// The bytes of each backtrace.
    pub points: Vec<u64>,
    /// Where each point's backtrace ends in `codes`.
    pub ends: Vec<usize>,
    /// Of all points, outermost frame first.
    pub codes: Vec<LocationCode>,
    /// As they are in the file.
    pub frames: Vec<String>,
    /// Frames with fewer bytes than their callers.
    pub odd: u64,
    known: FxHashMap<String, u64>,
    /// From the root on.
    open: Vec<Open>,
    /// No backtrace has more frames.
    depth: usize,
    budget: Budget,
}

/// A frame whose callers are to come.
#[derive(Clone, Copy, Debug)]
struct Open {
    code: LocationCode,
    callers: u64,
    /// What the callers have not, up to now.
    bytes: u64,
}

/// `n2: 300 0x109163: grow (a.c:2)`
struct Row<'a> {
    depth: usize,
    callers: u64,
    bytes: u64,
    name: &'a str,
}

impl Tree {
    /// All that is whole, and why there is not more. What is missing at the end is kept with as many
    /// frames as are known.
    pub fn read(lines: Lines<'_>, depth: usize) -> (Self, Option<Fault>) {
        let mut tree = Self {
            root: String::new(),
            points: Vec::new(),
            ends: Vec::new(),
            codes: Vec::new(),
            frames: Vec::new(),
            odd: 0,
            known: FxHashMap::default(),
            open: Vec::new(),
            depth,
            budget: Budget::new(MEMORY),
        };
        let fault = tree.take_all(lines).err();
        while !tree.open.is_empty() {
            tree.end_last(false);
        }
        (tree, fault)
    }

    /// What it is a tree of, if of something else: Valgrind's tools write others in this format.
    pub fn other_root(&self) -> Option<String> {
        let is_known = self.root.is_empty() || ROOTS.iter().any(|it| self.root.starts_with(it));
        (!is_known).then(|| {
            format!(
                "is a tree of {:?}, not of what massif saw\n  who reads it: ms_print",
                self.root
            )
        })
    }

    fn take_all(&mut self, lines: Lines<'_>) -> Result<(), Fault> {
        for line in lines {
            self.take(line.whole()?)?;
            if self.open.is_empty() {
                return Ok(());
            }
        }
        Err(Fault::of_file("the file is cut in a tree of what lived"))
    }

    fn take(&mut self, line: Line<'_>) -> Result<(), Fault> {
        let text = String::from_utf8_lossy(line.text);
        let row = Row::parse(&text).filter(|row| row.depth == self.open.len());
        let Some(row) = row else {
            let depth = self.open.len();
            return Err(line.fault(&format!("a frame behind {depth} spaces: 'n1: 1234 0x1: f'")));
        };
        let code = self.enter(&row).map_err(|problem| line.problem(problem))?;
        if row.callers == 0 {
            let frames = self.open.len() - 1;
            self.end_last(code == BELOW || (1..self.depth).contains(&frames));
        }
        while self.open.last().is_some_and(|open| open.callers == 0) {
            self.end_last(false);
        }
        Ok(())
    }

    /// A frame begins, which is a caller of the last one.
    fn enter(&mut self, row: &Row<'_>) -> Result<LocationCode, String> {
        match self.open.last_mut() {
            Some(callee) => {
                self.odd += u64::from(callee.bytes < row.bytes);
                callee.bytes = callee.bytes.saturating_sub(row.bytes);
                callee.callers -= 1;
            }
            None => self.root = row.name.to_owned(),
        }
        let code = self.code_of(row.name)?;
        // It may be the last of a backtrace.
        self.budget.take((self.open.len() + 2) * size_of::<LocationCode>())?;
        self.open.push(Open { code, callers: row.callers, bytes: row.bytes });
        Ok(code)
    }

    fn code_of(&mut self, name: &str) -> Result<LocationCode, String> {
        if name.starts_with("in ") && name.contains(" below massif's threshold") {
            return Ok(BELOW);
        }
        if let Some(code) = self.known.get(name) {
            return Ok(LocationCode(*code));
        }
        self.budget.take(2 * (size_of::<String>() + name.len()) + size_of::<u64>())?;
        let code = self.frames.len() as u64;
        self.frames.push(name.to_owned());
        self.known.insert(name.to_owned(), code);
        Ok(LocationCode(code))
    }

    /// The last frame has no more callers. What it has and they have not is a point: all of it if it
    /// is the outermost one.
    fn end_last(&mut self, is_outermost: bool) {
        let Some(last) = self.open.last().copied() else { return };
        if last.bytes > 0 {
            self.codes.extend((!is_outermost).then_some(TRUNCATED));
            let frames = self.open.get(1..).unwrap_or_default();
            self.codes.extend(frames.iter().rev().map(|open| open.code));
            self.ends.push(self.codes.len());
            self.points.push(last.bytes);
        }
        self.open.pop();
    }
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let (callers, rest) = text.strip_prefix('n')?.split_once(": ")?;
        let (bytes, name) = rest.split_once(' ')?;
        let depth = line.len() - text.len();
        Some(Self { depth, callers: callers.parse().ok()?, bytes: bytes.parse().ok()?, name })
    }
}
