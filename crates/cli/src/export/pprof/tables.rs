//! The tables of a profile: strings, functions, frames and object files, each with a number.

use std::collections::BTreeMap;
use std::fmt::Write;

use lifetrace_analysis::names::expand;
use lifetrace_analysis::shape::Key;
use lifetrace_analysis::{Frame, Place};
use lifetrace_trace::fact::Module;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use super::proto::{Function, Line, Location, Mapping};
use crate::open::Trace;
use crate::report::function;

/// Strings, each once; the first is empty.
#[derive(Debug)]
pub struct Strings {
    pub all: Vec<String>,
    indices: FxHashMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Self { all: Vec::new(), indices: FxHashMap::default() };
        strings.index("");
        strings
    }
}

impl Strings {
    /// The place of `text` in the table.
    pub fn index(&mut self, text: &str) -> i64 {
        if let Some(&index) = self.indices.get(text) {
            return index;
        }
        let index = self.all.len() as i64;
        self.all.push(text.to_owned());
        self.indices.insert(text.to_owned(), index);
        index
    }
}

/// Frames, and the functions that they are in, in the order in which they were asked for.
pub struct Frames<'a> {
    trace: &'a Trace,
    modules: &'a BTreeMap<u32, Module>,
    pub locations: Vec<Location>,
    pub functions: Vec<Function>,
    ids: FxHashMap<LocationCode, u64>,
    line_ids: FxHashMap<(Key<'a>, bool), u64>,
    function_ids: FxHashMap<(String, &'a str), u64>,
}

impl<'a> Frames<'a> {
    /// Those of `trace`, in these object files.
    pub fn new(trace: &'a Trace, modules: &'a BTreeMap<u32, Module>) -> Self {
        Self {
            trace,
            modules,
            locations: Vec::new(),
            functions: Vec::new(),
            ids: FxHashMap::default(),
            line_ids: FxHashMap::default(),
            function_ids: FxHashMap::default(),
        }
    }

    /// The location of a frame.
    pub fn id(&mut self, code: LocationCode, strings: &mut Strings) -> u64 {
        if let Some(&id) = self.ids.get(&code) {
            return id;
        }
        let places = expand(self.trace, code).map(|frame| frame.place);
        let line = places.map(|place| self.line(&place, strings)).collect();
        let id = self.add(self.mapping_id(code), line);
        self.ids.insert(code, id);
        id
    }

    /// The location of a line that is by itself, since lines around it may have been left out; `code`
    /// is a frame that has it.
    pub fn line_id(
        &mut self,
        frame: &Frame<'a>,
        code: Option<LocationCode>,
        strings: &mut Strings,
    ) -> u64 {
        let key = (Key::of(&frame.place), frame.inlined);
        if let Some(&id) = self.line_ids.get(&key) {
            return id;
        }
        let line = self.line(&frame.place, strings);
        let id = self.add(code.map_or(0, |code| self.mapping_id(code)), vec![line]);
        self.line_ids.insert(key, id);
        id
    }

    fn add(&mut self, mapping_id: u64, line: Vec<Line>) -> u64 {
        let id = self.locations.len() as u64 + 1;
        self.locations.push(Location { id, mapping_id, line });
        id
    }

    /// The object file that a frame is in; 0 if it is in none.
    fn mapping_id(&self, code: LocationCode) -> u64 {
        if self.modules.is_empty() {
            return EXECUTABLE;
        }
        let number = self.trace.frame(code).and_then(|frame| frame.module);
        number.and_then(|number| self.modules.get(&number)).map_or(0, mapping_id)
    }

    fn line(&mut self, place: &Place<'a>, strings: &mut Strings) -> Line {
        let (file, line, column) = match place {
            // Without a line it is an object file, and no source.
            Place::Known(location) if location.line > 0 => {
                (&*location.filename, location.line, location.start_char)
            }
            _ => ("", 0, 0),
        };
        let function_id = self.function(function(place), file, strings);
        Line { function_id, line: line.into(), column: column.into() }
    }

    fn function(&mut self, name: String, file: &'a str, strings: &mut Strings) -> u64 {
        let next = self.functions.len() as u64 + 1;
        *self.function_ids.entry((name, file)).or_insert_with_key(|(name, file)| {
            let (name, filename) = (strings.index(name), strings.index(file));
            self.functions.push(Function { id: next, name, system_name: name, filename });
            next
        })
    }
}

/// The one that stands for the program where no object files are known.
const EXECUTABLE: u64 = 1;

fn mapping_id(module: &Module) -> u64 {
    u64::from(module.number) + 1
}

/// The object files; the program if none are known. Without them, or if they were not said to have
/// everything, readers would look for the files on their own machine.
pub fn mappings(
    modules: &BTreeMap<u32, Module>,
    executable: &str,
    strings: &mut Strings,
) -> Vec<Mapping> {
    let complete = Mapping {
        has_functions: true,
        has_filenames: true,
        has_line_numbers: true,
        has_inline_frames: true,
        ..Mapping::default()
    };
    if modules.is_empty() {
        return vec![Mapping { id: EXECUTABLE, filename: strings.index(executable), ..complete }];
    }
    let mapping = |module: &Module| Mapping {
        id: mapping_id(module),
        memory_start: module.start,
        memory_limit: module.end,
        file_offset: module.start.saturating_sub(module.bias),
        filename: strings.index(&module.path),
        build_id: strings.index(&hex(&module.build_id)),
        ..complete.clone()
    };
    modules.values().map(mapping).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("memory takes all");
        text
    })
}
