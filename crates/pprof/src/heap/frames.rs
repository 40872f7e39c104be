//! A snapshot's frames as a profile's locations.

use std::collections::BTreeMap;
use std::sync::Arc;

use lifetrace_trace::event::Location;
use lifetrace_trace::fact::Module;
use lifetrace_trace::frame::Frame;
use rustc_hash::FxHashMap;

use crate::proto::Line;
use crate::tables::{Code, EXECUTABLE, Strings, mapping_id};

/// The snapshot's frames as locations.
pub(crate) struct Frames<'a> {
    modules: BTreeMap<u32, &'a Module>,
    pub(crate) code: Code,
    ids: FxHashMap<u32, u64>,
}

impl<'a> Frames<'a> {
    pub(crate) fn new(modules: &'a [Arc<Module>]) -> Self {
        let modules = modules.iter().map(|module| (module.number, &**module)).collect();
        Frames { modules, code: Code::default(), ids: FxHashMap::default() }
    }

    /// The location of a frame, which has this number in the snapshot.
    pub(crate) fn id(&mut self, number: u32, frame: &Frame, strings: &mut Strings) -> u64 {
        if let Some(&id) = self.ids.get(&number) {
            return id;
        }
        let mut lines: Vec<Line> =
            frame.locations.iter().rev().map(|location| self.line(location, strings)).collect();
        if lines.is_empty() {
            lines.push(self.named("(unknown frame)", "", strings));
        }
        let id = self.code.add(self.mapping(frame), lines);
        self.ids.insert(number, id);
        id
    }

    fn mapping(&self, frame: &Frame) -> u64 {
        if self.modules.is_empty() {
            return EXECUTABLE;
        }
        let module = frame.module.and_then(|number| self.modules.get(&number));
        module.map_or(0, |module| mapping_id(module))
    }

    fn line(&mut self, location: &Location, strings: &mut Strings) -> Line {
        let name = match &*location.defname {
            "" => "(unnamed function)",
            name => name,
        };
        // Without a line it is an object file, and no source.
        let file = if location.line > 0 { &*location.filename } else { "" };
        let line = self.named(name, file, strings);
        Line { line: location.line.into(), column: location.start_char.into(), ..line }
    }

    fn named(&mut self, name: &str, file: &str, strings: &mut Strings) -> Line {
        Line { function_id: self.code.function(name, file, strings), ..Line::default() }
    }
}
