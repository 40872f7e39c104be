//! `lifetrace dump`: all events as text, the same for the same events whatever the format, made to be
//! compared by `diff`.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use lifetrace_trace::event::{Allocation, Event, Source};
use lifetrace_trace::ids::{Bytes, Size, Timestamp, Words};
use lifetrace_trace::lt::{BirthDetails, Item};

use crate::open::{Backtraces, Trace};

mod backtrace;
mod fact;
mod packets;
mod totals;

use backtrace::BacktraceText;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The trace; - is standard input
    trace: PathBuf,
    /// Leave out backtraces
    #[arg(long)]
    no_backtraces: bool,
    /// Leave out facts: what the trace tells beside events
    #[arg(long)]
    no_facts: bool,
    /// Add what only some formats have: thread, size, sampler, and what is special
    #[arg(long)]
    all_columns: bool,
    /// Show the packets that the file is made of, not what they say
    #[arg(long, conflicts_with_all = ["no_backtraces", "no_facts", "all_columns"])]
    packets: bool,
}

const AFTER_HELP: &str = "\
Columns are separated by tabs. Times are microseconds since the trace's start.

  TIME allocation ID LENGTH_WORDS SAMPLES SOURCE DOMAIN DEPTH BACKTRACE...
  TIME promotion ID
  TIME collection ID
  TIME fact KIND KEY=VALUE...

--all-columns puts these before DEPTH, and the first at the end of promotions and collections:

  THREAD SIZE SAMPLER MARKS

SIZE is in bytes (b) or words (w), whichever is known exactly. MARKS are 'growth', if a block
grew by so much, and 'truncated', if outermost frames are missing. '-' stands for none, and for
what the trace has no room for.";

const BUFFER_BYTES: usize = 256 * 1024;

const COLUMNS: &str = "# time_us event id, allocations: length_words samples source domain";
const MORE_COLUMNS: &str = "thread size sampler marks";
const BACKTRACE_COLUMNS: &str = "depth backtrace (outermost frame first)";

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.packets {
        return packets::run(&args.trace);
    }
    let backtraces = if args.no_backtraces { Backtraces::Skip } else { Backtraces::Read };
    let mut trace = Trace::open(&args.trace, backtraces)?;
    let mut dump = Dump {
        output: stdout(),
        start: trace.info().start_time,
        backtrace: (backtraces == Backtraces::Read).then(BacktraceText::default),
        with_facts: !args.no_facts,
        with_all_columns: args.all_columns,
    };
    dump.head()?;
    while dump.next(&mut trace)? {}
    dump.output.flush()?;
    Ok(super::conclude(&trace.damages()))
}

fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock())
}

struct Dump<W> {
    output: W,
    start: Timestamp,
    backtrace: Option<BacktraceText>,
    with_facts: bool,
    with_all_columns: bool,
}

impl<W: Write> Dump<W> {
    fn head(&mut self) -> io::Result<()> {
        write!(self.output, "{COLUMNS}")?;
        if self.with_all_columns {
            write!(self.output, " {MORE_COLUMNS}")?;
        }
        if self.backtrace.is_some() {
            write!(self.output, " {BACKTRACE_COLUMNS}")?;
        }
        writeln!(self.output)
    }

    /// Writes what comes next; false at the end.
    fn next(&mut self, trace: &mut Trace) -> io::Result<bool> {
        let Some((time, item)) = trace.next() else { return Ok(false) };
        let time = time.0.saturating_sub(self.start.0);
        match item {
            Item::Fact(fact) if self.with_facts => {
                writeln!(self.output, "{time}\tfact\t{}", fact::text(&fact))?;
            }
            Item::Fact(_) => {}
            Item::Event(Event::Promotion(id)) => {
                write!(self.output, "{time}\tpromotion\t{}", id.0)?;
                self.end_change(trace)?;
            }
            Item::Event(Event::Collection(id)) => {
                write!(self.output, "{time}\tcollection\t{}", id.0)?;
                self.end_change(trace)?;
            }
            Item::Event(Event::Allocation(allocation)) => {
                self.allocation(time, &allocation)?;
                let kept = self.backtrace.as_mut().map(|text| text.take(&allocation));
                self.end_allocation(kept, trace)?;
            }
        }
        Ok(true)
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

    /// Of the backtrace, so many frames are in the text already.
    fn end_allocation(&mut self, kept: Option<usize>, trace: &Trace) -> io::Result<()> {
        if self.with_all_columns {
            self.thread(trace)?;
            match trace.birth() {
                Some(details) => write!(self.output, "\t{}", more(details))?,
                None => write!(self.output, "\t-\t-\t-")?,
            }
        }
        if let (Some(backtrace), Some(kept)) = (&mut self.backtrace, kept) {
            backtrace.render(kept, trace);
            let (depth, text) = backtrace.text();
            write!(self.output, "\t{depth}")?;
            self.output.write_all(text.as_bytes())?;
        }
        self.output.write_all(b"\n")
    }

    fn end_change(&mut self, trace: &Trace) -> io::Result<()> {
        if self.with_all_columns {
            self.thread(trace)?;
        }
        self.output.write_all(b"\n")
    }

    fn thread(&mut self, trace: &Trace) -> io::Result<()> {
        match trace.thread() {
            Some(thread) => write!(self.output, "\t{}", thread.0),
            None => write!(self.output, "\t-"),
        }
    }
}

/// Size, sampler and marks.
fn more(details: &BirthDetails) -> String {
    let size = match details.size {
        Size::Bytes(Bytes(bytes)) => format!("{bytes}b"),
        Size::Words(Words(words)) => format!("{words}w"),
    };
    let marks = match (details.is_growth, details.is_truncated) {
        (false, false) => "-",
        (true, false) => "growth",
        (false, true) => "truncated",
        (true, true) => "growth,truncated",
    };
    format!("{size}\t{}\t{marks}", details.sampler.0)
}

fn source_name(source: Source) -> &'static str {
    match source {
        Source::Minor => "minor",
        Source::Major => "major",
        Source::External => "external",
    }
}
