//! `lifetrace dump`: all events as text, the same for the same events whatever the format, made to be
//! compared by `diff`.
//!
//! Backtraces are kept as text, outermost frame first, so that a line costs the frames that changed
//! and one copy of the rest.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use lifetrace_analysis::Names;
use lifetrace_trace::event::{Allocation, Event, Location, Source};
use lifetrace_trace::ids::{LocationCode, Timestamp};
use rustc_hash::FxHashMap;

use crate::human;
use crate::open::{Backtraces, Trace};

/// What may be typed.
#[derive(clap::Args)]
pub struct Args {
    /// The trace
    trace: PathBuf,
    /// Leave out backtraces
    #[arg(long)]
    no_backtraces: bool,
}

const BUFFER_BYTES: usize = 256 * 1024;

const COLUMNS: &str = "# time_us event id, allocations: length_words samples source domain";
const BACKTRACE_COLUMNS: &str = "depth backtrace (outermost frame first)";

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let backtraces = if args.no_backtraces { Backtraces::Skip } else { Backtraces::Read };
    let mut trace = Trace::open(&args.trace, backtraces)?;
    let mut dump = Dump {
        output: BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock()),
        start: trace.info().start_time,
        backtrace: (backtraces == Backtraces::Read).then(BacktraceText::default),
    };
    dump.head()?;
    let damage = loop {
        match dump.next(&mut trace)? {
            Ok(true) => {}
            Ok(false) => break None,
            Err(damage) => break Some(damage),
        }
    };
    dump.output.flush()?;
    Ok(super::conclude(damage.as_ref()))
}

struct Dump<W> {
    output: W,
    start: Timestamp,
    backtrace: Option<BacktraceText>,
}

impl<W: Write> Dump<W> {
    fn head(&mut self) -> io::Result<()> {
        match self.backtrace {
            Some(_) => writeln!(self.output, "{COLUMNS} {BACKTRACE_COLUMNS}"),
            None => writeln!(self.output, "{COLUMNS}"),
        }
    }

    /// Writes one event; false at the end.
    fn next(&mut self, trace: &mut Trace) -> io::Result<Result<bool, crate::damage::Damage>> {
        let (time, event) = match trace.next() {
            Ok(Some(next)) => next,
            Ok(None) => return Ok(Ok(false)),
            Err(damage) => return Ok(Err(damage)),
        };
        let time = time.0.saturating_sub(self.start.0);
        match event {
            Event::Promotion(id) => writeln!(self.output, "{time}\tpromotion\t{}", id.0)?,
            Event::Collection(id) => writeln!(self.output, "{time}\tcollection\t{}", id.0)?,
            Event::Allocation(allocation) => {
                self.allocation(time, &allocation)?;
                let kept = self.backtrace.as_mut().map(|text| text.take(&allocation));
                if let (Some(text), Some(kept)) = (&mut self.backtrace, kept) {
                    text.render(kept, trace);
                    write!(self.output, "\t{}", text.codes.len())?;
                    self.output.write_all(text.text.as_bytes())?;
                }
                self.output.write_all(b"\n")?;
            }
        }
        Ok(Ok(true))
    }

    fn allocation(&mut self, time: u64, allocation: &Allocation<'_>) -> io::Result<()> {
        let Allocation { id, length, samples, domain, .. } = allocation;
        let source = source_name(allocation.source);
        write!(
            self.output,
            "{time}\tallocation\t{}\t{}\t{samples}\t{source}\t{}",
            id.0, length.0, domain.0
        )
    }
}

fn source_name(source: Source) -> &'static str {
    match source {
        Source::Minor => "minor",
        Source::Major => "major",
        Source::External => "external",
    }
}

/// The last backtrace.
#[derive(Default)]
struct BacktraceText {
    codes: Vec<LocationCode>,
    /// Each frame with a tab before it.
    text: String,
    /// Where in `text` each frame ends.
    ends: Vec<usize>,
    frames: FxHashMap<LocationCode, String>,
}

impl BacktraceText {
    /// Notes a backtrace; gives back how many of its frames are in the text already.
    fn take(&mut self, allocation: &Allocation<'_>) -> usize {
        let kept = allocation.common_prefix.min(allocation.backtrace.len()).min(self.codes.len());
        self.codes.truncate(kept);
        self.codes.extend_from_slice(&allocation.backtrace[kept..]);
        kept
    }

    fn render(&mut self, kept: usize, names: &impl Names) {
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
