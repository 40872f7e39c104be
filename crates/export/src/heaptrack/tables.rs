//! heaptrack's tables, written line by line as they are needed: strings, instructions, backtraces and
//! classes of blocks. An entry is known by its number.

use std::io::{self, Write};

use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::names::expand;
use lifetrace_analysis::shape::LineId;
use lifetrace_analysis::{Place, Shaped};
use lifetrace_report::function;
use lifetrace_study::Reading;
use lifetrace_study::Study;
use lifetrace_study::open::Trace;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

/// What has been written, from 1 on; classes from 0 on.
pub struct Tables<'a> {
    reading: &'a Reading,
    /// Backtraces whose lines are not all to be shown; then each line is an instruction.
    shaped: Option<Shaped<'a>>,
    strings: FxHashMap<String, usize>,
    instructions: FxHashMap<Instruction, usize>,
    /// Those of the reading's profile, or as they are shown.
    backtraces: FxHashMap<NodeId, usize>,
    classes: FxHashMap<(u64, usize), usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Instruction {
    Frame(LocationCode),
    Line(LineId),
    /// Of a backtrace without frames, which heaptrack has none of.
    None,
}

impl<'a> Tables<'a> {
    pub fn new(study: &'a Study) -> Self {
        let (reading, view) = (&study.reading, &study.choice.view);
        let shaped = || Shaped::new(reading.profile.tree(), &reading.trace, view);
        Self {
            reading,
            shaped: (!view.is_empty()).then(shaped),
            strings: FxHashMap::default(),
            instructions: FxHashMap::default(),
            backtraces: FxHashMap::default(),
            classes: FxHashMap::default(),
        }
    }

    /// The backtrace as it is shown; nothing if it is not.
    pub fn shown(&self, backtrace: NodeId) -> Option<NodeId> {
        self.shaped.as_ref().map_or(Some(backtrace), |shaped| shaped.of(backtrace))
    }

    /// Blocks of a size from a backtrace as it is shown.
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
        let path = self.path(node);
        let is_new = |(node, _): &(NodeId, Instruction)| !self.backtraces.contains_key(node);
        let missing = path.iter().take_while(|step| is_new(step)).count();
        let known = path.get(missing).map_or(0, |(node, _)| self.backtraces[node]);
        let mut parent = known;
        for (node, instruction) in path[..missing].iter().rev() {
            parent = self.add_backtrace(*node, *instruction, parent, output)?;
        }
        Ok(parent)
    }

    /// A backtrace and what it is without its innermost frames, and the innermost frame of each.
    fn path(&self, node: NodeId) -> Vec<(NodeId, Instruction)> {
        let tree = self.reading.profile.tree();
        let path: Vec<_> = match &self.shaped {
            None => tree.path(node).map(|(node, code)| (node, Instruction::Frame(code))).collect(),
            Some(shaped) => {
                let lines = shaped.tree().path(node);
                lines.map(|(node, line)| (node, Instruction::Line(line))).collect()
            }
        };
        if path.is_empty() { vec![(node, Instruction::None)] } else { path }
    }

    fn add_backtrace(
        &mut self,
        node: NodeId,
        instruction: Instruction,
        parent: usize,
        output: &mut dyn Write,
    ) -> io::Result<usize> {
        let instruction = self.instruction(instruction, output)?;
        writeln!(output, "t {instruction:x} {parent:x}")?;
        let number = self.backtraces.len() + 1;
        self.backtraces.insert(node, number);
        Ok(number)
    }

    fn instruction(
        &mut self,
        instruction: Instruction,
        output: &mut dyn Write,
    ) -> io::Result<usize> {
        if let Some(known) = self.instructions.get(&instruction) {
            return Ok(*known);
        }
        let number = self.instructions.len() + 1;
        let places = self.places(instruction);
        let module = self.module(instruction, &places, output)?;
        let address = match instruction {
            Instruction::Frame(code) => code.0,
            Instruction::Line(_) | Instruction::None => number as u64,
        };
        let mut line = format!("i {address:x} {module:x}");
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
        self.instructions.insert(instruction, number);
        Ok(number)
    }

    /// Innermost first.
    fn places(&self, instruction: Instruction) -> Vec<Place<'a>> {
        let trace: &'a Trace = &self.reading.trace;
        match (instruction, &self.shaped) {
            (Instruction::Frame(code), _) => expand(trace, code).map(|frame| frame.place).collect(),
            (Instruction::Line(line), Some(shaped)) => vec![shaped.line(line).place],
            (Instruction::Line(_) | Instruction::None, _) => vec![Place::NoBacktrace],
        }
    }

    /// The object file's path: as the trace tells it, or in place of a source file.
    fn module(
        &mut self,
        instruction: Instruction,
        places: &[Place<'a>],
        output: &mut dyn Write,
    ) -> io::Result<usize> {
        let reading = self.reading;
        let frame = match instruction {
            Instruction::Frame(code) => reading.trace.frame(code),
            Instruction::Line(_) | Instruction::None => None,
        };
        let number = frame.and_then(|frame| frame.module);
        let module = number.and_then(|number| reading.facts.modules.get(&number));
        let path = match (module, places) {
            (Some(module), _) => &*module.path,
            (None, [Place::Known(location)]) if location.line == 0 => &*location.filename,
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
