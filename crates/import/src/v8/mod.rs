//! Sampled heap profiles of V8 (`.heapprofile`), as `node --heap-prof` and Chrome's developer tools
//! write them: JSON, a tree of functions with the bytes that live of each.
//!
//! V8 counted `size * round(n / (1 - exp(-size / interval)))` for `n` samples of a size. Neither the
//! sizes nor the interval are in the file, so blocks can't be told from bytes, and there are no
//! intervals of confidence. There are no times and no lifetimes either, and what was collected before
//! the profile was taken is not in it.

mod frame;
#[cfg(test)]
mod tests;
mod tree;
mod wrong;

use std::io::{Read, Write};

use lifetrace_trace::event::{TRUNCATED_NAME, remark};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{LocationCode, Timestamp};

use super::budget::Budget;
use super::fault::{Failure, Fault};
use super::foreign::without_spaces;
use super::lacks::MADE as BLOCKS;
use super::points::{self, Amount, Backtraces, Counted, MADE_WITHOUT_TIMES as MADE, Point};
use super::scribe::{Scribe, Subject};
use super::{Imported, Lack, count};
use tree::Tree;

/// How a file begins, without spaces; Chrome and Node write no others.
pub const KEY: &str = "\"head\":{\"callFrame\"";

/// What lives is told by backtrace, in bytes.
const LACKS: [Lack; 8] = [
    Lack::Times,
    Lack::Lifetimes,
    Lack::Peak,
    Lack::Sizes,
    Lack::Threads,
    Lack::Allocated,
    Lack::Objects,
    Lack::Sampling,
];

/// So many frames of a stack V8 keeps, the innermost, if it is told nothing else.
const MOST_FRAMES: usize = 128;

/// What backtraces may take, in bytes.
const MEMORY: usize = if cfg!(fuzzing) { 1 << 20 } else { 512 << 20 };

/// The frame in front of backtraces that V8 may have cut.
const TRUNCATED: LocationCode = LocationCode(u64::MAX);

/// An object of JSON that has such a tree.
pub fn is_beginning(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"{") && without_spaces(bytes).contains(KEY)
}

/// Reads a profile and writes it as a trace.
///
/// # Errors
/// If nothing of the input can be used, or the output can't be written.
pub fn import(input: impl Read, output: &mut dyn Write) -> Result<Imported, Failure> {
    let (tree, problem) = Tree::read(input);
    let (profile, too_much) = Profile::new(tree);
    let fault = problem.or(too_much);
    if profile.points.is_empty() {
        let nothing = || Fault::of_file("nothing lives in it: nothing was sampled, or not yet");
        return Err(fault.unwrap_or_else(nothing).into());
    }
    let profiler = "V8's sampling heap profiler".to_owned();
    let subject = Subject { command: String::new(), pid: 0, start: Timestamp(0), profiler };
    let mut scribe = Scribe::new(output, &subject, 1.0)?;
    scribe.label(BLOCKS, MADE)?;
    scribe.lacks(&LACKS)?;
    let mut remarks = vec![MADE.to_owned()];
    remarks.extend(points::write_moment(
        &profile.points,
        1.0,
        Counted::Bytes,
        &profile,
        &mut scribe,
    )?);
    remarks.extend(profile.remarks());
    if let Some(fault) = &fault {
        scribe.label("import.cut", &fault.to_string())?;
    }
    let (births, deaths) = scribe.finish()?;
    Ok(Imported { profiler: subject.profiler, births, deaths, remarks, fault })
}

/// The nodes of a tree that have bytes of their own.
struct Profile {
    tree: Tree,
    points: Vec<Point>,
    /// Where each point's backtrace ends in `codes`.
    ends: Vec<usize>,
    /// Of all points, outermost frame first.
    codes: Vec<LocationCode>,
    /// Backtraces that V8 may have cut.
    truncated: u64,
}

impl Profile {
    /// All that there is room for, and why there is not more.
    fn new(tree: Tree) -> (Self, Option<Fault>) {
        let (points, ends, codes) = (Vec::new(), Vec::new(), Vec::new());
        let mut profile = Self { tree, points, ends, codes, truncated: 0 };
        let mut budget = Budget::new(MEMORY);
        let problem = profile.add_all(&mut budget).err();
        (profile, problem.map(Fault::of_file))
    }

    fn add_all(&mut self, budget: &mut Budget) -> Result<(), String> {
        for (index, node) in self.tree.nodes.iter().enumerate() {
            if node.bytes == 0 {
                continue;
            }
            let first = self.codes.len();
            for code in self.tree.path(index) {
                budget.take(size_of::<LocationCode>())?;
                self.codes.push(code);
            }
            if self.codes.len() - first >= MOST_FRAMES {
                self.codes.push(TRUNCATED);
                self.truncated += 1;
            }
            self.codes[first..].reverse();
            self.ends.push(self.codes.len());
            // As many as were sampled, so that their number can be asked for.
            let blocks = node.samples.clamp(1, node.bytes);
            let live = Amount { bytes: node.bytes, blocks };
            self.points.push(Point { total: live, end: live, ..Point::default() });
        }
        Ok(())
    }

    fn remarks(&self) -> Vec<String> {
        let samples: u64 = self.tree.nodes.iter().map(|node| node.samples).sum();
        let mut remarks = vec![
            "bytes are estimates from samples; the file does not tell how many bytes lie between two \
             of these, so no intervals can be given, and objects are not known"
                .to_owned(),
            "what was collected before the profile was taken is not in it, unless the profiler was \
             told to keep that"
                .to_owned(),
        ];
        remarks.extend((samples > 0).then(|| format!("{} samples were taken", count(samples))));
        remarks.extend((self.tree.strays > 0).then(|| {
            format!("{} samples more are of no function in the tree", count(self.tree.strays))
        }));
        remarks.extend((self.truncated > 0).then(|| {
            format!(
                "{} backtraces have {MOST_FRAMES} frames or more, of which V8 keeps no others unless \
                 it is told to: outer frames may be missing",
                count(self.truncated)
            )
        }));
        remarks
    }
}

impl Backtraces for Profile {
    fn backtrace(&self, point: usize) -> &[LocationCode] {
        let from = point.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.codes[from..self.ends[point]]
    }

    fn frame(&self, code: LocationCode) -> Frame {
        match code {
            TRUNCATED => vec![remark(TRUNCATED_NAME)].into(),
            LocationCode(code) => {
                let known = usize::try_from(code).ok().and_then(|it| self.tree.frames.get(it));
                known.map_or_else(Frame::default, |location| vec![location.clone()].into())
            }
        }
    }
}
