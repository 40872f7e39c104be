//! A file's snapshots: one after another, each with its numbers, some with a tree.

use super::super::fault::Fault;
use super::super::lines::{Line, Lines};
use super::options::Options;

/// Between the head and the number of a snapshot, and between that and the rest of it.
const RULE: &[u8] = b"#-----------";

/// What a file tells.
#[derive(Debug)]
pub struct File<'a> {
    pub options: Options,
    pub command: String,
    pub unit: Unit,
    /// How many there are.
    pub snapshots: u64,
    /// When the last one was, in the unit.
    pub end: u64,
    /// The one that has most of those with a tree; the first of equal ones.
    pub highest: Option<Snapshot<'a>>,
    /// What the highest of all has, in bytes.
    pub most: u64,
}

/// What massif's clock counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    #[default]
    Instructions,
    Milliseconds,
    /// Allocated or freed.
    Bytes,
}

/// A moment.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    pub time: u64,
    /// In bytes, as they were asked for.
    pub heap: u64,
    /// What the allocator needs beside these, as massif guesses.
    pub extra: u64,
    /// In bytes; 0 if they were not looked at.
    pub stacks: u64,
    /// Behind the line that says that there is a tree.
    pub tree: Lines<'a>,
}

impl Snapshot<'_> {
    /// What massif compares.
    pub fn all(&self) -> u64 {
        self.heap.saturating_add(self.extra).saturating_add(self.stacks)
    }
}

impl<'a> File<'a> {
    /// All whole lines, and why there are not more.
    pub fn read(bytes: &'a [u8]) -> (Self, Option<Fault>) {
        let mut file = Self {
            options: Options::default(),
            command: String::new(),
            unit: Unit::default(),
            snapshots: 0,
            end: 0,
            highest: None,
            most: 0,
        };
        let fault = file.take_all(Lines::new(bytes)).err();
        (file, fault)
    }

    fn take_all(&mut self, mut lines: Lines<'a>) -> Result<(), Fault> {
        let mut now = Snapshot { time: 0, heap: 0, extra: 0, stacks: 0, tree: lines };
        let mut is_head = true;
        while let Some(line) = lines.next() {
            let line = line.whole()?;
            now.tree = lines;
            match is_head {
                true if line.text == RULE => is_head = false,
                true => self.take_head(&String::from_utf8_lossy(line.text)),
                false => self.take(line, &mut now)?,
            }
        }
        Ok(())
    }

    /// A command may have several lines.
    fn take_head(&mut self, line: &str) {
        match line.split_once(": ") {
            Some(("desc", options)) if self.command.is_empty() => {
                self.options = Options::parse(options);
            }
            Some(("cmd", command)) if self.command.is_empty() => self.command = command.to_owned(),
            Some(("time_unit", unit)) if Unit::parse(unit).is_some() => {
                self.unit = Unit::parse(unit).unwrap_or_default();
            }
            _ => self.command = format!("{}\n{line}", self.command),
        }
    }

    /// Lines of trees begin with 'n', after spaces.
    fn take(&mut self, line: Line<'a>, now: &mut Snapshot<'a>) -> Result<(), Fault> {
        let text = String::from_utf8_lossy(line.text);
        if line.text == RULE || text.trim_start_matches(' ').starts_with('n') {
            return Ok(());
        }
        let other = || line.fault("a line of a snapshot, such as 'mem_heap_B=1234'");
        let (name, value) = text.split_once('=').ok_or_else(other)?;
        let number = || value.parse().map_err(|_| line.fault("a number"));
        match name {
            "snapshot" => self.snapshots += 1,
            "time" => now.time = number()?,
            "mem_heap_B" => now.heap = number()?,
            "mem_heap_extra_B" => now.extra = number()?,
            "mem_stacks_B" => now.stacks = number()?,
            "heap_tree" => self.take_snapshot(line, *now, value)?,
            _ => return Err(other()),
        }
        Ok(())
    }

    fn take_snapshot(
        &mut self,
        line: Line<'a>,
        now: Snapshot<'a>,
        tree: &str,
    ) -> Result<(), Fault> {
        self.end = self.end.max(now.time);
        self.most = self.most.max(now.all());
        let is_highest = self.highest.is_none_or(|highest| highest.all() < now.all());
        match tree {
            "empty" => {}
            "detailed" | "peak" if is_highest => self.highest = Some(now),
            "detailed" | "peak" => {}
            _ => return Err(line.fault("heap_tree=empty, detailed or peak")),
        }
        Ok(())
    }
}

impl Unit {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "i" => Some(Self::Instructions),
            "ms" => Some(Self::Milliseconds),
            "B" => Some(Self::Bytes),
            _ => None,
        }
    }

    /// In the trace.
    pub fn microseconds(self, time: u64) -> u64 {
        match self {
            Self::Milliseconds => time.saturating_mul(1000),
            Self::Instructions | Self::Bytes => time,
        }
    }

    /// What a microsecond of the trace stands for, if for no microsecond.
    pub fn clock(self) -> Option<&'static str> {
        match self {
            Self::Instructions => Some("a microsecond stands for an instruction"),
            Self::Milliseconds => None,
            Self::Bytes => Some("a microsecond stands for a byte that was allocated or freed"),
        }
    }
}
