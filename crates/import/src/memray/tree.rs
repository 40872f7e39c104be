//! The tree of calls, made into backtraces and what each of them had.

use lifetrace_trace::event::Location;
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use super::super::budget::Budget;
use super::super::points::{Amount, Backtraces, Lived, Point};
use super::page::unescaped;
use super::tables::{Interval, Tables};

/// What a node's file is called where memray went no deeper.
const TOO_DEEP: &str = "...";

/// A function and a file, both by their strings, and a line.
type Spot = (u32, u32, i64);

/// Backtraces of all nodes that have something of their own.
#[derive(Debug)]
pub struct Tree<'a> {
    pub tables: &'a Tables,
    /// What each has of its own, at the peak or at the end.
    points: Vec<Point>,
    /// Where each one's backtrace ends in `codes`.
    ends: Vec<usize>,
    /// Outermost frame first.
    codes: Vec<LocationCode>,
    /// By codes.
    spots: Vec<Spot>,
    of_nodes: FxHashMap<u32, usize>,
    remarks: Vec<String>,
}

impl<'a> Tree<'a> {
    /// Makes it; in an inverted one callers are below those they call.
    ///
    /// # Errors
    /// If the tables are no tree.
    pub fn new(tables: &'a Tables, is_inverted: bool, budget: Budget) -> Result<Self, String> {
        let parents = parents(tables)?;
        let (own, remarks) = match &tables.intervals {
            Some(intervals) => (at_one_time(intervals, &tables.peaks, parents.len()), Vec::new()),
            None => own(tables, &parents),
        };
        let mut tree = Self {
            tables,
            points: Vec::new(),
            ends: Vec::new(),
            codes: Vec::new(),
            spots: Vec::new(),
            of_nodes: FxHashMap::default(),
            remarks,
        };
        let walk = Walk { parents, is_inverted, codes: FxHashMap::default(), budget };
        tree.add_all(walk, &own)?;
        Ok(tree)
    }

    fn add_all(&mut self, mut walk: Walk, own: &[Amount]) -> Result<(), String> {
        for (node, amount) in (0..).zip(own) {
            if *amount != Amount::default() {
                self.add(&mut walk, node, *amount)?;
            }
        }
        for (_, _, node, ..) in self.tables.intervals.iter().flatten() {
            if !self.of_nodes.contains_key(node) {
                self.add(&mut walk, *node, Amount::default())?;
            }
        }
        Ok(())
    }

    fn add(&mut self, walk: &mut Walk, node: u32, amount: Amount) -> Result<(), String> {
        let first = self.codes.len();
        let mut next = Some(node).filter(|node| *node != ROOT);
        while let Some(node) = next {
            walk.budget.take(size_of::<LocationCode>())?;
            let code = walk.code(self.tables, node, &mut self.spots)?;
            self.codes.push(code);
            next = walk.parents[node as usize].filter(|parent| *parent != ROOT);
        }
        if !walk.is_inverted {
            self.codes[first..].reverse();
        }
        walk.budget.take(size_of::<(Point, usize, u32, usize)>())?;
        self.of_nodes.insert(node, self.points.len());
        self.points.push(Point { total: amount, peak: amount, end: amount, ..Point::default() });
        self.ends.push(self.codes.len());
        Ok(())
    }

    /// What each had at the peak, or at the end.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Of all.
    pub fn bytes(&self) -> u64 {
        self.points.iter().fold(0, |sum, point| sum.saturating_add(point.end.bytes))
    }

    /// Blocks with their times, which those of memray's looks are, and that of the end.
    pub fn lived(&self, looks: &[u64]) -> Vec<Lived> {
        let last = looks.len().saturating_sub(1);
        let time = |look: u64| looks[usize::try_from(look).unwrap_or(last).min(last)];
        let lived = |&(born, died, node, blocks, bytes): &Interval| {
            let birth = time(born);
            // Before the next look, so that it is not counted beside what is born until then.
            let death = died.map(|look| time(look).saturating_sub(1).max(birth));
            let point = *self.of_nodes.get(&node)?;
            Some(Lived { point, amount: Amount { bytes, blocks }, birth, death })
        };
        self.tables.intervals.iter().flatten().filter_map(lived).collect()
    }

    /// What should be known of it.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.remarks.clone();
        let is_cut = |&&(_, file, _): &&Spot| self.string(file) == TOO_DEEP;
        if self.spots.iter().any(|spot| is_cut(&spot)) {
            remarks.push(
                "some backtraces were too deep for memray: their innermost frames are missing"
                    .into(),
            );
        }
        let strings = self.tables.strings.len();
        let is_known = |string: u32| (string as usize) < strings;
        let unknown = self.spots.iter().filter(|(function, ..)| !is_known(*function)).count();
        if unknown > 0 {
            let unknown = super::super::count(unknown as u64);
            remarks.push(format!("{unknown} places have names that are not in the file"));
        }
        remarks
    }

    fn string(&self, number: u32) -> &str {
        self.tables.strings.get(number as usize).map_or("", |text| &**text)
    }
}

/// The node that all others are below; it is no frame.
const ROOT: u32 = 0;

/// What ways from nodes to the root take.
struct Walk {
    parents: Vec<Option<u32>>,
    is_inverted: bool,
    codes: FxHashMap<Spot, LocationCode>,
    budget: Budget,
}

impl Walk {
    fn code(
        &mut self,
        tables: &Tables,
        node: u32,
        spots: &mut Vec<Spot>,
    ) -> Result<LocationCode, String> {
        let node = node as usize;
        let spot = (tables.functions[node], tables.files[node], tables.lines[node]);
        if let Some(code) = self.codes.get(&spot) {
            return Ok(*code);
        }
        self.budget.take(3 * size_of::<(Spot, LocationCode)>())?;
        let code = LocationCode(spots.len() as u64);
        spots.push(spot);
        self.codes.insert(spot, code);
        Ok(code)
    }
}

/// The caller of each node. Callers come before those they call.
fn parents(tables: &Tables) -> Result<Vec<Option<u32>>, String> {
    let count = tables.functions.len();
    let amounts = if tables.is_temporal() { count } else { tables.bytes.len() };
    let blocks = if tables.is_temporal() { count } else { tables.blocks.len() };
    if [tables.files.len(), tables.lines.len(), amounts, blocks] != [count; 4] {
        return Err("the columns of the nodes are not equally long".to_owned());
    }
    let mut parents = vec![None; count];
    for (node, child) in &tables.edges {
        match parents.get_mut(*child as usize) {
            Some(parent @ None) if child > node => *parent = Some(*node),
            _ => return Err(format!("node {child}, below node {node}, makes no tree")),
        }
    }
    let nowhere = |(_, _, node, ..): &Interval| *node as usize >= count;
    match tables.intervals.iter().flatten().any(nowhere) {
        true => Err("blocks of a node that is not there".to_owned()),
        false => Ok(parents),
    }
}

/// What nodes have less those they call.
fn own(tables: &Tables, parents: &[Option<u32>]) -> (Vec<Amount>, Vec<String>) {
    let amounts = tables.bytes.iter().zip(&tables.blocks);
    let mut own: Vec<_> =
        amounts.map(|(bytes, blocks)| Amount { bytes: *bytes, blocks: *blocks }).collect();
    let mut odd = 0;
    for (node, parent) in parents.iter().enumerate() {
        let called = Amount { bytes: tables.bytes[node], blocks: tables.blocks[node] };
        let Some(rest) = parent.and_then(|parent| own.get_mut(parent as usize)) else { continue };
        odd += u64::from(rest.bytes < called.bytes || rest.blocks < called.blocks);
        *rest = rest.less(called);
    }
    let odd = (odd > 0).then(|| {
        let odd = super::super::count(odd);
        format!("{odd} calls have more than their callers: the numbers contradict each other")
    });
    (own, odd.into_iter().collect())
}

/// What lived at the highest of the peaks, or at the end.
fn at_one_time(intervals: &[Interval], peaks: &[u64], nodes: usize) -> Vec<Amount> {
    let highest = (0..).zip(peaks).max_by_key(|(look, bytes)| (**bytes, std::cmp::Reverse(*look)));
    let mut own = vec![Amount::default(); nodes];
    for &(born, died, node, blocks, bytes) in intervals {
        let lives = match highest {
            Some((look, _)) => born <= look && died.is_none_or(|died| died > look),
            None => died.is_none(),
        };
        if lives {
            let amount = &mut own[node as usize];
            amount.bytes = amount.bytes.saturating_add(bytes);
            amount.blocks = amount.blocks.saturating_add(blocks);
        }
    }
    own
}

impl Backtraces for Tree<'_> {
    fn backtrace(&self, point: usize) -> &[LocationCode] {
        let from = point.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.codes[from..self.ends[point]]
    }

    fn frame(&self, code: LocationCode) -> Frame {
        let spot = usize::try_from(code.0).ok().and_then(|index| self.spots.get(index));
        let Some(&(function, file, line)) = spot else { return Frame::default() };
        let location = Location {
            filename: unescaped(self.string(file)).into(),
            line: line.try_into().unwrap_or_default(),
            start_char: 0,
            end_char: 0,
            defname: unescaped(self.string(function)).into(),
        };
        Frame { locations: vec![location], kind: FrameKind::Unknown, module: None }
    }
}
