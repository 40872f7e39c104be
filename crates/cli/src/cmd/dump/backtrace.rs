//! Backtraces as text, outermost frame first, so that a line costs the frames that changed and one
//! copy of the rest.

use std::fmt::Write as _;

use lifetrace_analysis::Names;
use lifetrace_human as human;
use lifetrace_trace::event::Location;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

/// The last backtrace.
#[derive(Default)]
pub(super) struct BacktraceText {
    /// Each frame with a tab before it.
    text: String,
    /// Where in `text` each frame ends.
    ends: Vec<usize>,
    frames: FxHashMap<LocationCode, String>,
}

impl BacktraceText {
    /// Goes on to another backtrace, of which so many frames are those of the last one.
    pub(super) fn follow(&mut self, shared: usize, backtrace: &[LocationCode], names: &impl Names) {
        let kept = shared.min(backtrace.len()).min(self.ends.len());
        self.ends.truncate(kept);
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
        for &code in &backtrace[kept..] {
            let frame = self.frames.entry(code).or_insert_with(|| frame_text(names, code));
            self.text.push_str(frame);
            self.ends.push(self.text.len());
        }
    }

    /// Number of frames, and the text: each frame with a tab before it.
    pub(super) fn text(&self) -> (usize, &str) {
        (self.ends.len(), &self.text)
    }
}

fn frame_text(names: &impl Names, code: LocationCode) -> String {
    let locations = names.locations(code);
    if locations.is_empty() {
        return "\t?".to_owned();
    }
    let mut text = String::new();
    for (location, separator) in
        locations.iter().zip(std::iter::once("\t").chain(std::iter::repeat(" > ")))
    {
        text.push_str(separator);
        push_location(&mut text, location);
    }
    text
}

fn push_location(text: &mut String, location: &Location) {
    let Location { line, start_char, end_char, .. } = location;
    let (function, file) =
        (human::printable(&location.defname), human::printable(&location.filename));
    // Writing to a string cannot fail.
    let _ = write!(text, "{function} ({file}:{line}:{start_char}-{end_char})");
}
