//! Backtraces as text, outermost frame first, so that a line costs the frames that changed and one
//! copy of the rest.

use std::fmt::Write as _;

use lifetrace_analysis::Names;
use lifetrace_trace::event::{Allocation, Location};
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use crate::human;

/// The last backtrace.
#[derive(Default)]
pub(super) struct BacktraceText {
    codes: Vec<LocationCode>,
    /// Each frame with a tab before it.
    text: String,
    /// Where in `text` each frame ends.
    ends: Vec<usize>,
    frames: FxHashMap<LocationCode, String>,
}

impl BacktraceText {
    /// Notes a backtrace; gives back how many of its frames are in the text already.
    pub(super) fn take(&mut self, allocation: &Allocation<'_>) -> usize {
        let kept = allocation.common_prefix.min(allocation.backtrace.len()).min(self.codes.len());
        self.codes.truncate(kept);
        self.codes.extend_from_slice(&allocation.backtrace[kept..]);
        kept
    }

    /// Number of frames, and the text: each frame with a tab before it.
    pub(super) fn text(&self) -> (usize, &str) {
        (self.codes.len(), &self.text)
    }

    /// Makes the text that of the backtrace that was noted.
    pub(super) fn render(&mut self, kept: usize, names: &impl Names) {
        self.ends.truncate(kept);
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
        for &code in &self.codes[kept..] {
            let frame = self.frames.entry(code).or_insert_with(|| frame_text(names, code));
            self.text.push_str(frame);
            self.ends.push(self.text.len());
        }
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
