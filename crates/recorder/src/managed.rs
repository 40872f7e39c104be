//! The names of a managed runtime's frames, as its agent has told them.
//!
//! An agent tells each frame once in a session, so what it has told is kept to the end. There are as
//! many as the program has places that allocate or call; a target that tells more than [`MOST`] has
//! gone mad, and is not believed.

use std::sync::Arc;

use lifetrace_trace::event::{Location, remark};
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_transport::message::{FrameName, SAID_FRAME};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::symbolizer::fit;

/// Frames with names.
pub(crate) const MOST: usize = 1 << 20;

/// Locations of one frame; a trace has no room for more.
const MOST_LOCATIONS: usize = 255;

/// Frames by the numbers that their agent has given them.
#[derive(Debug, Default)]
pub(crate) struct ManagedNames {
    whole: FxHashMap<u64, Box<[Location]>>,
    /// Their last location has not come yet.
    begun: FxHashMap<u64, Vec<Location>>,
    addresses: FxHashMap<u64, u64>,
    strings: FxHashSet<Arc<str>>,
}

impl ManagedNames {
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
            defname: self.shared(name.function),
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
            self.whole.insert(name.frame, fit(locations).into());
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
        let locations = self.whole.get(&number).map_or_else(unnamed, |it| it.to_vec());
        let is_said = number & SAID_FRAME != 0;
        let kind = if is_said { FrameKind::Unknown } else { FrameKind::OCaml };
        Frame { locations, kind, module: None }
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

    const FIRST: u8 = 1;
    const LAST: u8 = 2;

    fn name(frame: u64, function: &str, place: u8) -> FrameName<'_> {
        FrameName {
            frame,
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
}
