//! Pages of memray: the HTML that `memray flamegraph` writes.
//!
//! A page has a tree of calls with bytes and blocks. Its title and its data say of what: of what lived
//! at the peak, or, with `--leaks`, at the end; with `--leaks --temporal` of all blocks that lived when
//! memray looked, which it does every 10 ms if nobody says otherwise, from one such look to another.
//! Other outputs of memray say less: `transform csv` not of which moment, `table` no backtraces.
//! Recordings themselves are read by memray of the same version only.

mod page;
mod tables;
#[cfg(test)]
mod tests;
mod tree;

use std::io::{Read, Write};

use lifetrace_trace::ids::Timestamp;

use super::budget::Budget;
use super::fault::{Failure, Fault, read_all};
use super::lacks::{MADE as BLOCKS, TIMES};
use super::points::{self, Counted};
use super::scribe::{Scribe, Subject};
use super::{Imported, Lack};
use page::Page;
pub use page::{foreign, is_beginning};
use tree::Tree;

/// What the tables may take, in bytes.
const MEMORY: usize = 1 << 30;

/// What a label of every such trace says, and what the file does not tell.
const AT_PEAK: &str = "blocks are made from sums: what each backtrace had at the peak is right, and \
    nothing else is told";
const AT_END: &str = "blocks are made from sums: what each backtrace had at the end is right, and \
    nothing else is told";
const OVER_TIME: &str = "blocks are made from sums: what lived whenever memray looked is right; what was \
    freed before it looked is not in the file";
const LACKS_AT_PEAK: [Lack; 6] =
    [Lack::Times, Lack::Lifetimes, Lack::Sizes, Lack::Threads, Lack::Allocated, Lack::Live];
const LACKS_AT_END: [Lack; 6] =
    [Lack::Times, Lack::Lifetimes, Lack::Sizes, Lack::Threads, Lack::Allocated, Lack::Peak];
const LACKS_OVER_TIME: [Lack; 5] =
    [Lack::Lifetimes, Lack::Sizes, Lack::Threads, Lack::Allocated, Lack::Peak];

/// Reads a page and writes it as a trace.
///
/// # Errors
/// If nothing of the input can be used, or the output can't be written.
pub fn import(input: impl Read, output: &mut dyn Write) -> Result<Imported, Failure> {
    let (bytes, unread) = read_all(input);
    let page = Page::find(&bytes)?;
    let mut budget = Budget::new(MEMORY);
    let (tables, broken) = page.tables(&mut budget);
    let fault = unread.or(broken).or_else(|| page.cut());
    if !tables.is_whole() {
        let old = || Fault::of_file(page::NO_DATA);
        return Err(fault.unwrap_or_else(old).into());
    }
    let tree = Tree::new(&tables, page.is_inverted, budget).map_err(Fault::of_file)?;
    Import { page, tree, fault }.write(output)
}

struct Import<'a> {
    page: Page<'a>,
    tree: Tree<'a>,
    fault: Option<Fault>,
}

/// The time that a page covers.
enum Extent {
    AtPeak,
    AtEnd,
    OverTime(Vec<u64>),
}

impl Import<'_> {
    fn write(self, output: &mut dyn Write) -> Result<Imported, Failure> {
        let extent = self.extent()?;
        let looks = self.page.looks();
        let start = Timestamp(looks.first().map_or(0, |first| first.saturating_mul(1000)));
        let profiler = "memray".to_owned();
        let subject = Subject { command: self.page.command.clone(), pid: 0, start, profiler };
        let mut scribe = Scribe::new(output, &subject, 1.0)?;
        let (made, lacks) = extent.labels();
        scribe.label(BLOCKS, made)?;
        scribe.lacks(lacks)?;
        let mut remarks = vec![made.to_owned()];
        remarks.extend(self.write_blocks(&extent, &mut scribe)?);
        remarks.extend(self.remarks());
        if let Some(fault) = &self.fault {
            scribe.label("import.cut", &fault.to_string())?;
        }
        let (births, deaths) = scribe.finish()?;
        Ok(Imported { profiler: subject.profiler, births, deaths, remarks, fault: self.fault })
    }

    fn extent(&self) -> Result<Extent, Fault> {
        let tables = self.tree.tables;
        match (self.page.is_of_end, tables.is_temporal()) {
            (true, true) if self.page.looks().is_empty() => Ok(Extent::AtEnd),
            (true, true) => Ok(Extent::OverTime(times_of(&self.page.looks()))),
            (true, false) => Ok(Extent::AtEnd),
            (false, _) => {
                let bytes = self.tree.bytes();
                match self.page.is_peak(bytes) {
                    true => Ok(Extent::AtPeak),
                    false => Err(Fault::of_file(page::NOT_THE_PEAK)),
                }
            }
        }
    }

    fn write_blocks(
        &self,
        extent: &Extent,
        scribe: &mut Scribe<'_>,
    ) -> Result<Vec<String>, Failure> {
        let Extent::OverTime(times) = extent else {
            return points::write_moment(
                self.tree.points(),
                1.0,
                Counted::Blocks,
                &self.tree,
                scribe,
            );
        };
        let looks = times.len().saturating_sub(1);
        let step = times.last().map_or(0, |last| last / 1000 / looks.max(1) as u64);
        scribe.label(
            TIMES,
            &format!(
                "to the next of memray's {} looks, one every {step} ms or so",
                super::count(looks as u64)
            ),
        )?;
        let end = times.last().copied().unwrap_or_default();
        points::write_lived(&self.tree.lived(times), end, &self.tree, scribe)
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.tree.remarks();
        if self.page.keeps_freed {
            remarks.push(
                "Python's allocator was not traced (memray run --trace-python-allocators): memory \
                 that it keeps for reuse looks as if it lived"
                    .to_owned(),
            );
        }
        remarks
    }
}

impl Extent {
    fn labels(&self) -> (&'static str, &'static [Lack]) {
        match self {
            Self::AtPeak => (AT_PEAK, &LACKS_AT_PEAK),
            Self::AtEnd => (AT_END, &LACKS_AT_END),
            Self::OverTime(_) => (OVER_TIME, &LACKS_OVER_TIME),
        }
    }
}

/// Microseconds from the first look to each, and to the end of the run, which is taken to come a step
/// after the last look. Each is at least two after the one before, so that blocks can die in between.
fn times_of(looks: &[u64]) -> Vec<u64> {
    let (first, last) = (looks[0], looks[looks.len() - 1]);
    let steps = looks.len().saturating_sub(1).max(1) as u64;
    let step = (last.saturating_sub(first) / steps).max(1);
    let mut times = Vec::with_capacity(looks.len() + 1);
    for look in looks.iter().copied().chain([last.saturating_add(step)]) {
        let time = look.saturating_sub(first).saturating_mul(1000);
        let least = times.last().map_or(0, |before: &u64| before.saturating_add(2));
        times.push(time.max(least));
    }
    times
}
