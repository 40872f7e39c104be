//! Which frame a line is of: for what only frames tell, where backtraces have been changed.

use lifetrace_analysis::NamedFrame;
use lifetrace_analysis::names::expand;
use lifetrace_analysis::shape::Key;
use lifetrace_study::Reading;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

/// For each line the first frame that has it.
pub struct Codes<'a>(FxHashMap<(Key<'a>, bool), LocationCode>);

impl<'a> Codes<'a> {
    /// Of all lines of a trace.
    pub fn new(reading: &'a Reading) -> Self {
        let mut codes = FxHashMap::default();
        let mut seen = rustc_hash::FxHashSet::default();
        for (_, _, code) in reading.profile.tree().nodes() {
            if seen.insert(code) {
                for frame in expand(&reading.trace, code) {
                    codes.entry(key(&frame)).or_insert(code);
                }
            }
        }
        Self(codes)
    }

    /// That of a line; nothing if it is of none.
    pub fn of(&self, line: &NamedFrame<'a>) -> Option<LocationCode> {
        self.0.get(&key(line)).copied()
    }
}

fn key<'a>(line: &NamedFrame<'a>) -> (Key<'a>, bool) {
    (Key::of(&line.place), line.inlined)
}
