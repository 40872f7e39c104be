//! The column of frames: what each number in the column of backtraces stands for.
//!
//! Frames are numbered in the order in which they are told, which is that of their first use. Names
//! are told once between two checkpoints. A file has its functions, a function its last line;
//! and a frame's code is near that of the frame nearest to it in the same file, since compilers lay
//! out code roughly as it was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::coder::Coder;
use super::number::Number;
use super::probability::{Probability, code_tree};
use super::text::{Example, Text};
use crate::event::Location;
use crate::frame::{Frame, FrameKind};
use crate::framing::fault::Fault;
use crate::ids::LocationCode;

/// Longest name in bytes; longer ones are cut.
pub(super) const MAX_NAME: usize = 4096;

/// Most locations of one frame; the innermost ones of more are dropped.
pub(super) const MAX_LOCATIONS: usize = 255;

const FILE_NAME: u8 = 1;
const FUNCTION_NAME: u8 = 2;

/// What both sides know.
pub(super) struct Frames {
    files: Vec<File>,
    /// Indices of files, the last used first.
    recent: Vec<usize>,
    /// Indices of files; in the writer alone.
    by_name: FxHashMap<Arc<str>, usize>,
    last_code: u64,
    last_kind: FrameKind,
    last_module: Option<u32>,
    models: Models,
}

struct File {
    name: Arc<str>,
    example: Example,
    functions: Vec<Function>,
    /// Indices of functions, the last used first.
    recent: Vec<usize>,
    /// Indices of functions; in the writer alone.
    by_name: FxHashMap<Arc<str>, usize>,
    last_line: i64,
    /// Codes of outermost locations.
    codes: BTreeMap<u32, u64>,
}

struct Function {
    name: Arc<str>,
    example: Example,
    last_line: i64,
}

struct Models {
    text: Text,
    count: Number,
    same_kind: Probability,
    kind: Number,
    module: Number,
    is_next: Probability,
    code: Number,
    code_low: [Probability; 4],
    file: Number,
    function: [Number; 2],
    line: [Number; 3],
    start: Number,
    end: Number,
}

impl Frames {
    pub(super) fn new() -> Self {
        let models = Models {
            text: Text::new(),
            count: Number::new(2),
            same_kind: Probability::EVEN,
            kind: Number::new(3),
            module: Number::new(3),
            is_next: Probability::EVEN,
            code: Number::new(2),
            code_low: [Probability::EVEN; 4],
            file: Number::mostly_zero(3),
            function: std::array::from_fn(|_| Number::mostly_zero(3)),
            line: std::array::from_fn(|_| Number::new(3)),
            start: Number::new(6),
            end: Number::new(5),
        };
        Self {
            files: Vec::new(),
            recent: Vec::new(),
            by_name: FxHashMap::default(),
            last_code: 0,
            last_kind: FrameKind::Unknown,
            last_module: None,
            models,
        }
    }

    /// How many bytes of names have been told.
    pub(super) fn text_len(&self) -> usize {
        self.models.text.len()
    }

    /// Codes a frame, which is within the limits.
    ///
    /// # Errors
    /// Only when decoding.
    pub(super) fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        code: LocationCode,
        frame: &Frame,
    ) -> Result<(LocationCode, Frame), Fault> {
        let count = frame.locations.len().min(MAX_LOCATIONS) as u64;
        let count = self.models.count.code(coder, count) as usize;
        if count > MAX_LOCATIONS {
            return Err(Fault::Unexpected("fewer locations"));
        }
        let (kind, module) = self.code_kind(coder, frame)?;
        let mut locations = Vec::new();
        for index in 0..count {
            locations.push(self.code_location(coder, frame.locations.get(index), index > 0)?);
        }
        let code = self.code_code(coder, code, locations.first());
        Ok((code, Frame { locations, kind, module }))
    }

    fn code_kind<C: Coder>(
        &mut self,
        coder: &mut C,
        frame: &Frame,
    ) -> Result<(FrameKind, Option<u32>), Fault> {
        let is_same = frame.kind == self.last_kind && frame.module == self.last_module;
        if !self.models.same_kind.code(coder, is_same) {
            let kind = self.models.kind.code(coder, frame.kind.number());
            let module = frame.module.map_or(0, |module| u64::from(module) + 1);
            let module = self.models.module.code(coder, module);
            self.last_kind = FrameKind::from_number(kind);
            let module = module.checked_sub(1).map(u32::try_from).transpose();
            self.last_module = module.map_err(|_| Fault::Unexpected("a module's number"))?;
        }
        Ok((self.last_kind, self.last_module))
    }

    fn code_location<C: Coder>(
        &mut self,
        coder: &mut C,
        location: Option<&Location>,
        is_inlined: bool,
    ) -> Result<Location, Fault> {
        let file = self.code_file(coder, location)?;
        let (function, is_known) = self.code_function(coder, file, location)?;
        let file = &mut self.files[file];
        let function = &mut file.functions[function];
        let (base, context) = match is_known {
            true => (function.last_line, usize::from(is_inlined)),
            false => (file.last_line, 2),
        };
        let line = location.map_or(0, |it| i64::from(it.line));
        let line = base.wrapping_add(self.models.line[context].code_signed(coder, line - base));
        let line = u32::try_from(line).map_err(|_| Fault::Unexpected("a line"))?;
        (function.last_line, file.last_line) = (line.into(), line.into());
        let start = location.map_or(0, |it| it.start_char);
        let start = self.models.start.code(coder, start.into()) as u32;
        let width = location.map_or(0, |it| i64::from(it.end_char) - i64::from(start));
        let width = self.models.end.code_signed(coder, width);
        let end_char = i64::from(start).wrapping_add(width) as u32;
        let (filename, defname) = (file.name.clone(), function.name.clone());
        Ok(Location { filename, line, start_char: start, end_char, defname })
    }

    fn code_file<C: Coder>(
        &mut self,
        coder: &mut C,
        location: Option<&Location>,
    ) -> Result<usize, Fault> {
        let known = location.and_then(|it| self.by_name.get(&it.filename));
        let rank = known.map_or(0, |file| rank(&self.recent, *file));
        let rank = self.models.file.code(coder, rank as u64) as usize;
        if rank > 0 {
            return take(&mut self.recent, rank - 1)
                .ok_or(Fault::Unexpected("a file that was told"));
        }
        let name = location.map_or("", |it| &it.filename);
        let example = self.recent.first().map_or(Example::NONE, |&last| self.files[last].example);
        let (name, example) = self.models.text.code(coder, FILE_NAME, name, example, MAX_NAME)?;
        let name: Arc<str> = name.into();
        if location.is_some() {
            self.by_name.insert(name.clone(), self.files.len());
        }
        self.files.push(File {
            name,
            example,
            functions: Vec::new(),
            recent: Vec::new(),
            by_name: FxHashMap::default(),
            last_line: 0,
            codes: BTreeMap::new(),
        });
        self.recent.insert(0, self.files.len() - 1);
        Ok(self.files.len() - 1)
    }

    /// The function's index in its file, and whether it was told before.
    fn code_function<C: Coder>(
        &mut self,
        coder: &mut C,
        file: usize,
        location: Option<&Location>,
    ) -> Result<(usize, bool), Fault> {
        let last = match self.files[file].recent.first() {
            Some(&last) => self.files[file].functions[last].example,
            None => self.last_function_example(),
        };
        let file = &mut self.files[file];
        let known = location.and_then(|it| file.by_name.get(&it.defname));
        let rank = known.map_or(0, |function| rank(&file.recent, *function));
        let is_new_file = usize::from(file.functions.is_empty());
        let rank = self.models.function[is_new_file].code(coder, rank as u64) as usize;
        if rank > 0 {
            let known = take(&mut file.recent, rank - 1);
            return Ok((known.ok_or(Fault::Unexpected("a function that was told"))?, true));
        }
        let name = location.map_or("", |it| &it.defname);
        let (name, example) = self.models.text.code(coder, FUNCTION_NAME, name, last, MAX_NAME)?;
        let name: Arc<str> = name.into();
        if location.is_some() {
            file.by_name.insert(name.clone(), file.functions.len());
        }
        file.functions.push(Function { name, example, last_line: 0 });
        file.recent.insert(0, file.functions.len() - 1);
        Ok((file.functions.len() - 1, false))
    }

    /// That of the file that was used before the current one.
    fn last_function_example(&self) -> Example {
        let last = self.recent.get(1).map(|&file| &self.files[file]);
        let function = last.and_then(|file| Some(&file.functions[*file.recent.first()?]));
        function.map_or(Example::NONE, |function| function.example)
    }

    fn code_code<C: Coder>(
        &mut self,
        coder: &mut C,
        code: LocationCode,
        location: Option<&Location>,
    ) -> LocationCode {
        let next = self.last_code.wrapping_add(1);
        let mut found = next;
        if !self.models.is_next.code(coder, code.0 == next) {
            let base = location.and_then(|it| self.near(it)).unwrap_or(self.last_code);
            let distance = (code.0 >> 2).wrapping_sub(base >> 2) as i64;
            // Of 62 bits, so that it can be folded.
            let distance = self.models.code.code_signed(coder, distance << 2 >> 2);
            let low = code_tree(&mut self.models.code_low, 2, coder, code.0 as usize & 3);
            found = (base >> 2).wrapping_add(distance as u64) << 2 | low as u64;
        }
        self.last_code = found;
        if let Some(location) = location {
            self.place(location, found);
        }
        LocationCode(found)
    }

    /// The code of the frame whose line in the same file is nearest.
    fn near(&self, location: &Location) -> Option<u64> {
        let codes = &self.file_of(location)?.codes;
        let below = codes.range(..=location.line).next_back();
        let above = codes.range(location.line..).next();
        match (below, above) {
            (Some((low, code)), Some((high, _))) if location.line - low <= high - location.line => {
                Some(*code)
            }
            (_, Some((_, code))) | (Some((_, code)), None) => Some(*code),
            (None, None) => None,
        }
    }

    fn place(&mut self, location: &Location, code: u64) {
        if let Some(index) = self.index_of(location) {
            self.files[index].codes.insert(location.line, code);
        }
    }

    fn file_of(&self, location: &Location) -> Option<&File> {
        self.index_of(location).map(|index| &self.files[index])
    }

    /// The file was used lately, since it was told with the frame.
    fn index_of(&self, location: &Location) -> Option<usize> {
        self.recent.iter().copied().find(|&index| self.files[index].name == location.filename)
    }
}

/// 1 for what was used last, and so on.
fn rank(recent: &[usize], index: usize) -> usize {
    recent.iter().position(|&other| other == index).map_or(0, |place| place + 1)
}

/// Moves what has a rank to the front.
fn take(recent: &mut [usize], rank: usize) -> Option<usize> {
    recent.get_mut(..=rank)?.rotate_right(1);
    recent.first().copied()
}
