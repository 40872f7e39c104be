//! `lifetrace dump`: all events as text, the same for the same events whatever the format, made to be
//! compared by `diff`.

use std::fs::File;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use lifetrace_analysis::filter::Filter;
use lifetrace_human as human;
use lifetrace_import::lacks;
use lifetrace_study::open::{Backtraces, Trace};
use lifetrace_study::sieve::Sieve;
use lifetrace_study::twice::Twice;
use lifetrace_trace::event::Source;
use lifetrace_trace::fact::{Fact, Label};
use lifetrace_trace::ids::{AllocationId, Bytes, DomainId, Size, ThreadId, Timestamp, Words};
use lifetrace_trace::record::{Birth, RecordKind};

use super::lth;
use crate::{bar, choosing, terminal};

mod backtrace;
mod fact;
mod packets;
mod totals;

use backtrace::BacktraceText;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The trace, or a heap snapshot (.lth); - is standard input, of traces only
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
    #[command(flatten)]
    blocks: choosing::Blocks,
    /// Show the packets that the file is made of, not what they say
    #[arg(long, conflicts_with_all = ["no_backtraces", "no_facts", "all_columns", "filter"])]
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
    if let Some(file) = lth::open(&args.trace)? {
        return of_snapshot(&args, file);
    }
    if args.packets {
        return packets::run(&args.trace);
    }
    let filter = args.blocks.filter()?;
    let is_bare = args.no_backtraces && !filter.needs().frames;
    let backtraces = if is_bare { Backtraces::Skip } else { Backtraces::Read };
    let (mut trace, sieve) = open(&args.trace, backtraces, &filter)?;
    let mut dump = Dump {
        output: stdout(),
        start: trace.info().start_time,
        backtrace: (!args.no_backtraces).then(BacktraceText::default),
        sieve,
        with_facts: !args.no_facts,
        with_all_columns: args.all_columns,
    };
    dump.head()?;
    while dump.next(&mut trace)? {}
    dump.output.flush()?;
    Ok(super::conclude(&trace.damages()))
}

/// Of all that may be typed, only some is about snapshots.
fn of_snapshot(args: &Args, file: File) -> anyhow::Result<ExitCode> {
    if args.no_facts || args.all_columns || !args.blocks.filter()?.is_empty() {
        bail!("--filter, --no-facts and --all-columns are about traces\n  this is a heap snapshot")
    }
    if args.packets {
        return lth::packets(&args.trace, file, stdout());
    }
    lth::dump(&args.trace, file, !args.no_backtraces, stdout())
}

/// A filter may have to read the trace before.
fn open(
    path: &Path,
    backtraces: Backtraces,
    filter: &Filter,
) -> anyhow::Result<(Trace, Option<Sieve>)> {
    if filter.is_empty() {
        return Ok((Trace::open(path, backtraces)?, None));
    }
    let input = Twice::open(path)?;
    let trace = Trace::read(input.again()?, backtraces)?;
    let sieve = Sieve::new(lifetrace_study::admission(&input, filter, bar::watch)?, trace.info())?;
    Ok((trace, Some(sieve)))
}

fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock())
}

struct Dump<W> {
    output: W,
    start: Timestamp,
    backtrace: Option<BacktraceText>,
    sieve: Option<Sieve>,
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
        let Some(record) = trace.next_record() else { return Ok(false) };
        if !self.sieve.as_mut().is_none_or(|sieve| sieve.keeps(&record, trace.backtrace(), trace)) {
            self.pass_over(&record.kind, trace);
            return Ok(true);
        }
        let time = record.time.0.saturating_sub(self.start.0);
        let thread = trace.has_facts().then_some(record.thread);
        match &record.kind {
            RecordKind::Fact(fact) if self.with_facts => {
                tell_if_made(fact);
                writeln!(self.output, "{time}\tfact\t{}", fact::text(fact))?;
            }
            RecordKind::Fact(fact) => tell_if_made(fact),
            RecordKind::Promotion(id) => self.change(time, "promotion", *id, thread)?,
            RecordKind::Collection(id) => self.change(time, "collection", *id, thread)?,
            RecordKind::Birth(birth) => {
                self.birth(time, birth, record.domain, trace)?;
                self.more(birth, thread)?;
                self.end_birth(birth, trace)?;
            }
        }
        Ok(true)
    }

    /// The next backtrace begins as this one does.
    fn pass_over(&mut self, kind: &RecordKind, trace: &Trace) {
        if let (RecordKind::Birth(birth), Some(backtrace)) = (kind, &mut self.backtrace) {
            backtrace.follow(birth.common_prefix, trace.backtrace(), trace);
        }
    }

    fn birth(
        &mut self,
        time: u64,
        birth: &Birth,
        domain: DomainId,
        trace: &Trace,
    ) -> io::Result<()> {
        let Birth { id, samples, .. } = birth;
        let length = birth.size.words(trace.info().word_bits);
        let source = source_name(birth.source);
        write!(
            self.output,
            "{time}\tallocation\t{}\t{}\t{samples}\t{source}\t{}",
            id.0, length.0, domain.0
        )
    }

    fn more(&mut self, birth: &Birth, thread: Option<ThreadId>) -> io::Result<()> {
        if !self.with_all_columns {
            return Ok(());
        }
        self.thread(thread)?;
        match thread {
            Some(_) => write!(self.output, "\t{}", more(birth)),
            None => write!(self.output, "\t-\t-\t-"),
        }
    }

    fn end_birth(&mut self, birth: &Birth, trace: &Trace) -> io::Result<()> {
        if let Some(backtrace) = &mut self.backtrace {
            backtrace.follow(birth.common_prefix, trace.backtrace(), trace);
            let (depth, text) = backtrace.text();
            write!(self.output, "\t{depth}")?;
            self.output.write_all(text.as_bytes())?;
        }
        self.output.write_all(b"\n")
    }

    fn change(
        &mut self,
        time: u64,
        what: &str,
        id: AllocationId,
        thread: Option<ThreadId>,
    ) -> io::Result<()> {
        write!(self.output, "{time}\t{what}\t{}", id.0)?;
        if self.with_all_columns {
            self.thread(thread)?;
        }
        self.output.write_all(b"\n")
    }

    fn thread(&mut self, thread: Option<ThreadId>) -> io::Result<()> {
        match thread {
            Some(thread) => write!(self.output, "\t{}", thread.0),
            None => write!(self.output, "\t-"),
        }
    }
}

/// Of an import of sums, no event is one that somebody saw.
fn tell_if_made(fact: &Fact) {
    if let Fact::Label(Label { key, value }) = fact
        && **key == *lacks::MADE
    {
        let value = human::printable(value);
        terminal::complain(format_args!(
            "note: this trace is an import, and its events were made from a profile: {value}"
        ));
    }
}

/// Size, sampler and marks.
fn more(birth: &Birth) -> String {
    let size = match birth.size {
        Size::Bytes(Bytes(bytes)) => format!("{bytes}b"),
        Size::Words(Words(words)) => format!("{words}w"),
    };
    let marks = match (birth.is_growth, birth.is_truncated) {
        (false, false) => "-",
        (true, false) => "growth",
        (false, true) => "truncated",
        (true, true) => "growth,truncated",
    };
    format!("{size}\t{}\t{marks}", birth.sampler.0)
}

fn source_name(source: Source) -> &'static str {
    match source {
        Source::Minor => "minor",
        Source::Major => "major",
        Source::External => "external",
    }
}
