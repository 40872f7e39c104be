//! Backtraces: the tree of frames, their lines, and all that can be said of a line without knowing the question.

use std::collections::BTreeMap;

use lifetrace_analysis::call_tree::{CallTree, NodeId};
use lifetrace_analysis::filter::Line;
use lifetrace_analysis::lines::lines;
use lifetrace_analysis::machinery::Machinery;
use lifetrace_analysis::names::is_start;
use lifetrace_analysis::plain_name::plain_name;
use lifetrace_analysis::{Names, Place};
use lifetrace_trace::event::{class_of, is_remark};
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use crate::section::Section;
use crate::strings::Strings;

const INLINED: u8 = 1;
const MACHINERY: u8 = 2;
const REMARK: u8 = 4;
const UNKNOWN: u8 = 8;
const CLASS: u8 = 16;
const START: u8 = 32;

/// The columns of nodes, frames and lines.
pub struct Frames<'a, N> {
    names: &'a N,
    machinery: &'a Machinery,
    strings: Strings<'a>,
    rows: FxHashMap<LocationCode, u32>,
    first: Vec<u32>,
    lines: Lines,
}

#[derive(Default)]
struct Lines {
    function: Vec<u32>,
    file: Vec<u32>,
    line: Vec<u32>,
    first_column: Vec<u32>,
    last_column: Vec<u32>,
    module: Vec<u32>,
    plain: Vec<u32>,
    flags: Vec<u8>,
    /// Triples.
    codes: Vec<u32>,
    /// Of functions that were met.
    plain_of: FxHashMap<u32, u32>,
}

/// Writes the backtraces that somebody has, and gives each its number in the bundle; others have none.
pub fn write<'a, N: Names>(
    tree: &CallTree,
    is_used: &[bool],
    names: &'a N,
    machinery: &'a Machinery,
    sections: &mut BTreeMap<&'static str, Section>,
) -> Vec<u32> {
    let mut frames = Frames::new(names, machinery);
    let is_kept = with_parents(tree, is_used);
    let mut numbers = vec![0; tree.len() + 1];
    let (mut parents, mut rows) = (Vec::new(), Vec::new());
    for (node, parent, code) in tree.nodes().filter(|(node, ..)| is_kept[node.index()]) {
        parents.push(numbers[parent.index()]);
        rows.push(frames.row(code));
        numbers[node.index()] = parents.len() as u32;
    }
    sections.insert("node.parent", Section::narrow(&parents));
    sections.insert("node.frame", Section::narrow(&rows));
    frames.write(sections);
    numbers
}

/// Those, and what leads to them.
fn with_parents(tree: &CallTree, is_used: &[bool]) -> Vec<bool> {
    let mut is_kept = vec![false; tree.len() + 1];
    for (node, parent, _) in tree.nodes().rev() {
        let node: NodeId = node;
        is_kept[node.index()] |= is_used.get(node.index()).is_some_and(|is| *is);
        is_kept[parent.index()] |= is_kept[node.index()];
    }
    is_kept
}

impl<'a, N: Names> Frames<'a, N> {
    fn new(names: &'a N, machinery: &'a Machinery) -> Self {
        Self {
            names,
            machinery,
            strings: Strings::new(),
            rows: FxHashMap::default(),
            first: vec![0],
            lines: Lines::default(),
        }
    }

    fn row(&mut self, code: LocationCode) -> u32 {
        if let Some(row) = self.rows.get(&code) {
            return *row;
        }
        let mut all: Vec<_> = lines(self.names, self.machinery, code).collect();
        all.reverse();
        all.iter().for_each(|line| self.lines.push(line, &mut self.strings));
        self.first.push(self.lines.flags.len() as u32);
        let row = self.rows.len() as u32;
        self.rows.insert(code, row);
        row
    }

    fn write(self, sections: &mut BTreeMap<&'static str, Section>) {
        sections.insert("frame.first", Section::narrow(&self.first));
        self.lines.write(sections);
        self.strings.write(sections);
    }
}

impl Lines {
    fn push<'a>(&mut self, line: &Line<'a>, strings: &mut Strings<'a>) {
        let frame = &line.frame;
        let mut flags = if frame.inlined { INLINED } else { 0 };
        flags |= if frame.is_machinery { MACHINERY } else { 0 };
        let (mut function, mut file, mut number) = (0, 0, 0);
        let (first_column, last_column) = frame.place.columns().unwrap_or_default();
        match frame.place {
            Place::Known(location) => {
                function = strings.number(&location.defname);
                file = strings.number(&location.filename);
                number = location.line;
                flags |= if is_remark(location) { REMARK } else { 0 };
                flags |= if class_of(location).is_some() { CLASS } else { 0 };
                flags |= if is_start(&location.defname) { START } else { 0 };
            }
            Place::Unknown(LocationCode(code)) => {
                flags |= UNKNOWN;
                self.codes.extend([self.flags.len() as u32, code as u32, (code >> 32) as u32]);
            }
            Place::NoBacktrace => flags |= UNKNOWN,
        }
        let plain = match frame.place {
            Place::Known(location) => self.plain(function, &location.defname, strings),
            _ => 0,
        };
        self.function.push(function);
        self.file.push(file);
        self.line.push(number);
        self.first_column.push(first_column);
        self.last_column.push(last_column);
        self.module.push(strings.number(line.module.unwrap_or_default()));
        self.plain.push(plain);
        self.flags.push(flags);
    }

    /// Nothing if the function is called that anyway.
    fn plain(&mut self, number: u32, function: &str, strings: &mut Strings<'_>) -> u32 {
        *self.plain_of.entry(number).or_insert_with(|| {
            let plain = plain_name(function);
            if plain == function { 0 } else { strings.number_of_new(&plain) }
        })
    }

    fn write(self, sections: &mut BTreeMap<&'static str, Section>) {
        let columns = [
            ("line.function", self.function),
            ("line.file", self.file),
            ("line.line", self.line),
            ("line.first_column", self.first_column),
            ("line.last_column", self.last_column),
            ("line.module", self.module),
            ("line.plain", self.plain),
        ];
        sections.extend(columns.map(|(name, column)| (name, Section::narrow(&column))));
        sections.insert("line.flags", Section::U8(self.flags));
        sections.insert("line.code", Section::U32(self.codes));
    }
}
