//! The frames of a trace as locations of a profile.

use std::collections::BTreeMap;

use lifetrace_analysis::names::expand;
use lifetrace_analysis::shape::Key;
use lifetrace_analysis::{NamedFrame, Place};
use lifetrace_pprof::proto::Line;
use lifetrace_pprof::tables::{Code, EXECUTABLE, Strings, mapping_id};
use lifetrace_report::function;
use lifetrace_study::open::Trace;
use lifetrace_trace::fact::Module;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

/// Frames, in the order in which they were asked for.
pub struct Frames<'a> {
    trace: &'a Trace,
    modules: &'a BTreeMap<u32, Module>,
    pub code: Code,
    ids: FxHashMap<LocationCode, u64>,
    line_ids: FxHashMap<(Key<'a>, bool), u64>,
}

impl<'a> Frames<'a> {
    /// Those of `trace`, in these object files.
    pub fn new(trace: &'a Trace, modules: &'a BTreeMap<u32, Module>) -> Self {
        Self {
            trace,
            modules,
            code: Code::default(),
            ids: FxHashMap::default(),
            line_ids: FxHashMap::default(),
        }
    }

    /// The location of a frame.
    pub fn id(&mut self, code: LocationCode, strings: &mut Strings) -> u64 {
        if let Some(&id) = self.ids.get(&code) {
            return id;
        }
        let places = expand(self.trace, code).map(|frame| frame.place);
        let line = places.map(|place| self.line(&place, strings)).collect();
        let id = self.code.add(self.mapping_id(code), line);
        self.ids.insert(code, id);
        id
    }

    /// The location of a line that is by itself, since lines around it may have been left out; `code`
    /// is a frame that has it.
    pub fn line_id(
        &mut self,
        frame: &NamedFrame<'a>,
        code: Option<LocationCode>,
        strings: &mut Strings,
    ) -> u64 {
        let key = (Key::of(&frame.place), frame.inlined);
        if let Some(&id) = self.line_ids.get(&key) {
            return id;
        }
        let line = self.line(&frame.place, strings);
        let id = self.code.add(code.map_or(0, |code| self.mapping_id(code)), vec![line]);
        self.line_ids.insert(key, id);
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
        let function_id = self.code.function(&function(place), file, strings);
        Line { function_id, line: line.into(), column: column.into() }
    }
}
