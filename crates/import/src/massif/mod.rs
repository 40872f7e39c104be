//! Profiles of Valgrind's massif: text, a series of snapshots with the bytes that lived, some of which
//! (*detailed* ones, among them the *peak*) say by a tree of backtraces whose these were.
//!
//! The highest snapshot with a tree is taken for the peak. Massif takes none after the last block was
//! freed, so its last one is not the end: a program that frees all has bytes in it. Only a file of one
//! snapshot, which somebody asked for while the program ran, is about what lives then.
//!
//! There are no numbers of blocks, and nothing of what was allocated and freed in between.

mod file;
mod options;
#[cfg(test)]
mod tests;
mod tree;

use std::io::{Read, Write};

use lifetrace_trace::event::{TRUNCATED_NAME, remark};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{LocationCode, Timestamp};

use super::fault::{Failure, Fault, read_all};
use super::lacks::{MADE as BLOCKS, PEAK};
use super::points::{self, Amount, Backtraces, Counted, Point, Times};
use super::scribe::{Scribe, Subject};
use super::{Imported, Lack, count, valgrind};
use file::{File, Snapshot};
use tree::Tree;

/// How files begin: with what the profiler was told.
pub const BEGINNING: &[u8] = b"desc: ";

/// What a label of every such trace says.
const MADE: &str = "blocks are made from sums: the bytes of each backtrace are right at the moment of \
    one snapshot; there are no numbers of blocks, no times and no lifetimes";

/// What no snapshot tells.
const LACKS: [Lack; 6] =
    [Lack::Times, Lack::Lifetimes, Lack::Sizes, Lack::Threads, Lack::Allocated, Lack::Objects];

/// By the first line.
pub fn is_beginning(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGINNING)
}

/// Reads a profile and writes it as a trace.
///
/// # Errors
/// If nothing of the input can be used, or the output can't be written.
pub fn import(input: impl Read, output: &mut dyn Write) -> Result<Imported, Failure> {
    let (bytes, unread) = read_all(input);
    let (file, problem) = File::read(&bytes);
    let Some(snapshot) = file.highest else {
        let nothing = || Fault::of_file("no snapshot in it has a tree of what lived (heap_tree=)");
        return Err(unread.or(problem).unwrap_or_else(nothing).into());
    };
    let (tree, damage) = Tree::read(snapshot.tree, file.options.depth);
    let fault = unread.or(damage).or(problem);
    if let Some(what) = tree.other_root() {
        return Err(Fault::of_file(what).into());
    }
    if tree.points.is_empty() {
        let nothing = || Fault::of_file("nothing lives in any snapshot");
        return Err(fault.unwrap_or_else(nothing).into());
    }
    write(&file, &snapshot, &tree, fault, output)
}

fn write(
    file: &File<'_>,
    snapshot: &Snapshot<'_>,
    tree: &Tree,
    fault: Option<Fault>,
    output: &mut dyn Write,
) -> Result<Imported, Failure> {
    let profiler = "massif (Valgrind)".to_owned();
    let subject = Subject { command: file.command.clone(), pid: 0, start: Timestamp(0), profiler };
    let mut scribe = Scribe::new(output, &subject, 1.0)?;
    scribe.label(BLOCKS, MADE)?;
    scribe.lacks(&LACKS)?;
    scribe.lacks(&[if file.is_of_one_moment() { Lack::Peak } else { Lack::Live }])?;
    let meaning = file.meaning(snapshot);
    scribe.label(PEAK, &meaning)?;
    if let Some(clock) = file.unit.clock() {
        scribe.label(super::CLOCK, clock)?;
    }
    let mut remarks = vec![MADE.to_owned(), meaning];
    remarks.extend(write_blocks(file, snapshot, tree, &mut scribe)?);
    remarks.extend(snapshot.remark());
    remarks.extend(tree.remark());
    if let Some(fault) = &fault {
        scribe.label("import.cut", &fault.to_string())?;
    }
    let (births, deaths) = scribe.finish()?;
    Ok(Imported { profiler: subject.profiler, births, deaths, remarks, fault })
}

/// One for each backtrace.
fn write_blocks(
    file: &File<'_>,
    snapshot: &Snapshot<'_>,
    tree: &Tree,
    scribe: &mut Scribe<'_>,
) -> Result<Vec<String>, Failure> {
    let amounts = tree.points.iter().map(|bytes| Amount { bytes: *bytes, blocks: 1 });
    if file.is_of_one_moment() {
        let live = |amount| Point { total: amount, end: amount, ..Point::default() };
        let points: Vec<_> = amounts.map(live).collect();
        return points::write_moment(&points, 1.0, Counted::Bytes, tree, scribe);
    }
    let at_peak = |amount| Point { total: amount, peak: amount, ..Point::default() };
    let points: Vec<_> = amounts.map(at_peak).collect();
    let [peak, end] = [snapshot.time, file.end].map(|time| file.unit.microseconds(time));
    points::write(&points, Times { peak, end }, tree, scribe)
}

impl File<'_> {
    /// Whether somebody asked for the snapshot, and for no others.
    fn is_of_one_moment(&self) -> bool {
        self.snapshots == 1
    }

    /// What the snapshot is that is in the trace.
    fn meaning(&self, snapshot: &Snapshot<'_>) -> String {
        let pages =
            if self.options.pages_as_heap { "pages that were mapped, no blocks; " } else { "" };
        if self.is_of_one_moment() {
            return format!("{pages}what lived when the snapshot was asked for");
        }
        let percent = self.options.peak_inaccuracy;
        let more = 100.0 * (self.most - snapshot.all()) as f64 / snapshot.all().max(1) as f64;
        let which = match snapshot.all() == self.most {
            true => "the highest snapshot".to_owned(),
            false => {
                format!("the highest snapshot with backtraces; one without is {more:.1} % higher")
            }
        };
        format!(
            "{pages}{which}; the real peak may be {percent} % higher, or more if nothing was freed \
             after it"
        )
    }
}

impl Snapshot<'_> {
    /// What is not in the trace.
    fn remark(&self) -> Option<String> {
        let extra = (self.extra > 0).then(|| {
            format!("{} bytes that massif guesses the allocator needs", count(self.extra))
        });
        let stacks = (self.stacks > 0).then(|| format!("{} bytes of stacks", count(self.stacks)));
        let both: Vec<_> = extra.into_iter().chain(stacks).collect();
        (!both.is_empty()).then(|| {
            format!("in massif's totals, and not in the trace, are {}", both.join(" and "))
        })
    }
}

impl Tree {
    fn remark(&self) -> Option<String> {
        let odd = count(self.odd);
        (self.odd > 0).then(|| format!("{odd} frames have more bytes than what they called"))
    }
}

impl Backtraces for Tree {
    fn backtrace(&self, point: usize) -> &[LocationCode] {
        let from = point.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.codes[from..self.ends[point]]
    }

    fn frame(&self, code: LocationCode) -> Frame {
        match code {
            tree::BELOW => vec![remark("[below massif's threshold]")].into(),
            tree::TRUNCATED => vec![remark(TRUNCATED_NAME)].into(),
            LocationCode(code) => {
                let text = usize::try_from(code).ok().and_then(|index| self.frames.get(index));
                text.map_or_else(Frame::default, |text| valgrind::parse(text))
            }
        }
    }
}
