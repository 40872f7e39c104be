//! The names of a managed language's frames, as its agent has sent them.
//!
//! An agent sends each name once in a session, so what it has sent is kept to the end. There are as
//! many as the program has places that allocate or call; a target that sends more than [`MOST`] has
//! gone mad, and is not believed.

use std::sync::Arc;

use lifetrace_trace::event::{Location, remark};
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_transport::message::{self, FrameName, SPAN_FRAME};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::runtimes::Language;
use crate::symbolizer::fit;

/// Frames with names.
pub(crate) const MOST: usize = 1 << 20;

/// Locations of one frame; a trace has no room for more.
const MOST_LOCATIONS: usize = 255;

/// Frames by the numbers that their agent has given them.
#[derive(Debug, Default)]
pub(crate) struct ManagedNames {
    /// Whose frames they are, where that is known.
    language: Option<&'static dyn Language>,
    whole: FxHashMap<u64, (message::FrameKind, Box<[Location]>)>,
    /// Their last location has not come yet.
    begun: FxHashMap<u64, Vec<Location>>,
    addresses: FxHashMap<u64, u64>,
    strings: FxHashSet<Arc<str>>,
}

impl ManagedNames {
    /// Frames are of this one.
    pub(crate) fn are_of(&mut self, language: &'static dyn Language) {
        self.language = Some(language);
    }

    /// Whether the object file with this path has the runtime's interpreter in it.
    pub(crate) fn is_interpreter(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        self.language.is_some_and(|language| language.is_interpreter(name))
    }

    /// Takes a frame's next location. The first one begins the frame anew; without it, others are in vain.
    pub(crate) fn add(&mut self, name: &FrameName<'_>) {
        if self.are_many() {
            return;
        }
        let location = Location {
            filename: self.shared(name.file),
            line: name.line,
            start_char: name.start_char,
            end_char: name.end_char,
            defname: self.full_name(name),
        };
        if name.is_first {
            self.begun.insert(name.frame, Vec::new());
        }
        let Some(locations) = self.begun.get_mut(&name.frame) else { return };
        if locations.len() < MOST_LOCATIONS {
            locations.push(location);
        }
        if name.is_last
            && let Some(locations) = self.begun.remove(&name.frame)
        {
            self.whole.insert(name.frame, (name.kind, fit(locations).into()));
        }
    }

    /// Takes the return address that is all that is known of a frame.
    pub(crate) fn add_address(&mut self, frame: u64, address: u64) {
        if !self.are_many() {
            self.addresses.insert(frame, address);
        }
    }

    /// The return address that a number stands for.
    pub(crate) fn address(&self, number: u64) -> Option<u64> {
        self.addresses.get(&number).copied()
    }

    fn are_many(&self) -> bool {
        self.whole.len() + self.begun.len() + self.addresses.len() >= MOST
    }

    /// What a number stands for; of one whose name was lost, the number.
    pub(crate) fn frame(&self, number: u64) -> Frame {
        let unnamed = || vec![remark(&format!("[unnamed frame {number}]"))];
        let known = self.whole.get(&number);
        let locations = known.map_or_else(unnamed, |(_, locations)| locations.to_vec());
        let kind = known.map(|(kind, _)| *kind).unwrap_or_default();
        Frame { locations, kind: self.kind(number, kind), module: None }
    }

    /// What the program says itself is no runtime's.
    fn kind(&self, number: u64, kind: message::FrameKind) -> FrameKind {
        let language = self.language.filter(|_| number & SPAN_FRAME == 0);
        let kinds = language.map_or(&[][..], Language::frame_kinds);
        kinds.get(usize::from(kind.0)).copied().unwrap_or_default()
    }

    /// What the program says itself is called as it says.
    fn full_name(&mut self, of: &FrameName<'_>) -> Arc<str> {
        let Some(language) = self.language.filter(|_| of.frame & SPAN_FRAME == 0) else {
            return self.shared(of.function);
        };
        let [function, file] = [of.function, of.file].map(String::from_utf8_lossy);
        self.shared(language.full_name(&function, &file).as_bytes())
    }

    fn shared(&mut self, name: &[u8]) -> Arc<str> {
        let name = String::from_utf8_lossy(name);
        if let Some(known) = self.strings.get(&*name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.strings.insert(Arc::clone(&name));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::fake::Fake;
    use crate::runtimes::ocaml::OCaml;

    const FIRST: u8 = 1;
    const LAST: u8 = 2;

    fn name(frame: u64, function: &str, place: u8) -> FrameName<'_> {
        FrameName {
            frame,
            kind: message::FrameKind::default(),
            is_first: place & FIRST != 0,
            is_last: place & LAST != 0,
            line: 3,
            start_char: 1,
            end_char: 9,
            function: function.as_bytes(),
            file: b"a.ml",
        }
    }

    fn functions(names: &ManagedNames, frame: u64) -> Vec<String> {
        names.frame(frame).locations.iter().map(|it| it.defname.to_string()).collect()
    }

    #[test]
    fn locations_of_several_frames_may_come_mixed() {
        let mut names = ManagedNames::default();
        names.are_of(&OCaml);
        for (frame, function, place) in [
            (1, "Outer.f", FIRST),
            (2, "B.g", FIRST | LAST),
            (1, "Inner.h", 0),
            (1, "Inner.i", LAST),
        ] {
            names.add(&name(frame, function, place));
        }
        assert_eq!(functions(&names, 1), ["Outer.f", "Inner.h", "Inner.i"]);
        assert_eq!(functions(&names, 2), ["B.g"]);
        let frame = names.frame(2);
        assert_eq!((frame.kind, frame.module), (FrameKind::OCaml, None));
        let location = &frame.locations[0];
        assert_eq!((location.line, location.start_char, location.end_char), (3, 1, 9));
        assert!(Arc::ptr_eq(&location.filename, &names.frame(1).locations[0].filename));
    }

    #[test]
    fn a_frame_whose_name_was_lost_has_its_number() {
        let mut names = ManagedNames::default();
        names.add(&name(7, "Never.ended", FIRST));
        assert_eq!(functions(&names, 7), ["[unnamed frame 7]"]);
        names.add(&name(8, "Never.begun", LAST));
        assert_eq!(functions(&names, 8), ["[unnamed frame 8]"]);
    }

    #[test]
    fn a_name_that_comes_again_replaces_the_first() {
        let mut names = ManagedNames::default();
        names.add(&name(1, "Old.f", FIRST | LAST));
        names.add(&name(1, "New.f", FIRST | LAST));
        assert_eq!(functions(&names, 1), ["New.f"]);
    }

    /// The agent uses a number again if it could not say all of a frame.
    #[test]
    fn what_was_said_of_a_frame_whose_end_was_lost_is_not_the_next_ones() {
        let mut names = ManagedNames::default();
        names.add(&name(1, "Lost.f", FIRST));
        names.add(&name(1, "Outer.g", FIRST));
        names.add(&name(1, "Inner.h", LAST));
        assert_eq!(functions(&names, 1), ["Outer.g", "Inner.h"]);
    }

    #[test]
    fn no_frame_has_more_locations_than_a_trace_takes() {
        let mut names = ManagedNames::default();
        names.add(&name(1, "f", FIRST));
        for _ in 0..1000 {
            names.add(&name(1, "f", 0));
        }
        names.add(&name(1, "f", LAST));
        assert!(functions(&names, 1).len() <= MOST_LOCATIONS);
    }

    #[test]
    fn what_is_no_text_is_survived() {
        let mut names = ManagedNames::default();
        names.add(&FrameName { function: b"\xff\xfe", ..name(1, "", FIRST | LAST) });
        assert_eq!(functions(&names, 1), ["\u{fffd}\u{fffd}"]);
    }

    #[test]
    fn a_frame_is_of_its_kind_in_its_runtime() {
        let mut names = ManagedNames::default();
        for number in 0..3 {
            let kind = message::FrameKind(number);
            names.add(&FrameName { kind, ..name(u64::from(number), "f", FIRST | LAST) });
        }
        names.add(&name(SPAN_FRAME, "said", FIRST | LAST));
        let kinds = |names: &ManagedNames| [0, 1, 2, SPAN_FRAME, 77].map(|it| names.frame(it).kind);
        let unknown = FrameKind::Unknown;
        assert_eq!(kinds(&names), [unknown; 5]);
        names.are_of(&Fake);
        let (ruby, native) = (FrameKind::Ruby, FrameKind::RubyNative);
        assert_eq!(kinds(&names), [ruby, native, unknown, unknown, ruby]);
    }
}
