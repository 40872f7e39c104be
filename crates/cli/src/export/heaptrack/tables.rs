//! heaptrack's tables, written line by line as they are needed: strings, instructions, backtraces and
//! classes of blocks. An entry is known by its number.

use std::io::{self, Write};

use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::names::expand;
use lifetrace_analysis::{Place, Profile};
use lifetrace_trace::event::GROWTH;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use crate::open::Trace;
use crate::report::function;
use crate::summary::Reading;

/// What has been written, from 1 on; classes from 0 on.
pub struct Tables<'a> {
    reading: &'a Reading,
    strings: FxHashMap<String, usize>,
    instructions: FxHashMap<LocationCode, usize>,
    /// Those of the reading's profile.
    backtraces: FxHashMap<NodeId, usize>,
    classes: FxHashMap<(u64, usize), usize>,
}

impl<'a> Tables<'a> {
    pub fn new(reading: &'a Reading) -> Self {
        Self {
            reading,
            strings: FxHashMap::default(),
            instructions: FxHashMap::default(),
            backtraces: FxHashMap::default(),
            classes: FxHashMap::default(),
        }
    }

    /// Blocks of a size from a backtrace.
    ///
    /// # Errors
    /// Those of the output.
    pub fn class(
        &mut self,
        bytes: u64,
        backtrace: NodeId,
        output: &mut dyn Write,
    ) -> io::Result<usize> {
        let backtrace = self.backtrace(backtrace, output)?;
        let next = self.classes.len();
        let class = *self.classes.entry((bytes, backtrace)).or_insert(next);
        if class == next {
            writeln!(output, "a {bytes:x} {backtrace:x}")?;
        }
        Ok(class)
    }

    fn backtrace(&mut self, node: NodeId, output: &mut dyn Write) -> io::Result<usize> {
        if let Some(known) = self.backtraces.get(&node) {
            return Ok(*known);
        }
        let profile: &'a Profile = &self.reading.profile;
        let missing: Vec<_> = profile
            .tree()
            .path(node)
            .take_while(|(node, _)| !self.backtraces.contains_key(node))
            .collect();
        let outermost = missing.last().and_then(|(node, _)| profile.tree().parent(*node));
        let mut parent =
            outermost.and_then(|(parent, _)| self.backtraces.get(&parent)).copied().unwrap_or(0);
        for (node, code) in missing.into_iter().rev() {
            parent = self.add_backtrace(node, code, parent, output)?;
        }
        if parent == 0 {
            parent = self.add_backtrace(node, NOTHING, 0, output)?;
        }
        Ok(parent)
    }

    fn add_backtrace(
        &mut self,
        node: NodeId,
        code: LocationCode,
        parent: usize,
        output: &mut dyn Write,
    ) -> io::Result<usize> {
        let instruction = self.instruction(code, output)?;
        writeln!(output, "t {instruction:x} {parent:x}")?;
        let number = self.backtraces.len() + 1;
        self.backtraces.insert(node, number);
        Ok(number)
    }

    fn instruction(&mut self, code: LocationCode, output: &mut dyn Write) -> io::Result<usize> {
        if let Some(known) = self.instructions.get(&code) {
            return Ok(*known);
        }
        let trace: &'a Trace = &self.reading.trace;
        let places: Vec<Place<'a>> = match code {
            NOTHING => vec![Place::NoBacktrace],
            _ => expand(trace, code).map(|frame| frame.place).collect(),
        };
        let module = self.module(code, &places, output)?;
        let mut line = format!("i {:x} {module:x}", code.0);
        for place in &places {
            let (name, file, number) = match place {
                Place::Known(location) if location.line > 0 => {
                    (function(place), &*location.filename, location.line)
                }
                _ => (function(place), "", 0),
            };
            let (name, file) = (self.string(&name, output)?, self.string(file, output)?);
            line.push_str(&format!(" {name:x} {file:x} {number:x}"));
        }
        writeln!(output, "{line}")?;
        let number = self.instructions.len() + 1;
        self.instructions.insert(code, number);
        Ok(number)
    }

    /// The object file's path: as the trace tells it, or in place of a source file.
    fn module(
        &mut self,
        code: LocationCode,
        places: &[Place<'a>],
        output: &mut dyn Write,
    ) -> io::Result<usize> {
        let reading = self.reading;
        let number = reading.trace.frame(code).and_then(|frame| frame.module);
        let module = number.and_then(|number| reading.facts.modules.get(&number));
        let path = match (module, places) {
            (Some(module), _) => &*module.path,
            (None, [Place::Known(location)]) if location.line == 0 && code != GROWTH => {
                &*location.filename
            }
            _ => "",
        };
        self.string(path, output)
    }

    /// 0 for none.
    fn string(&mut self, text: &str, output: &mut dyn Write) -> io::Result<usize> {
        if text.is_empty() {
            return Ok(0);
        }
        if let Some(known) = self.strings.get(text) {
            return Ok(*known);
        }
        writeln!(output, "s {:x} {text}", text.len())?;
        let number = self.strings.len() + 1;
        self.strings.insert(text.to_owned(), number);
        Ok(number)
    }
}

/// Stands for a backtrace without frames, which heaptrack has none of.
const NOTHING: LocationCode = LocationCode(u64::MAX);
