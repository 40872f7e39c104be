//! What a snapshot of a Ruby program's heap costs, beside a dump that the machine makes itself: for how long the program
//! stands still, what the child takes, and how long it takes to analyse the file.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use lifetrace_trace::lth::{Found, Item, Reader};

use super::launch::{self, Launcher, Usage};
use super::program;
use super::record::Record;
use super::spread::median;
use crate::shell;

/// Objects, beside those of the machine's own.
const OBJECTS: u64 = 1_000_000;

const ROUNDS: usize = 7;

/// Seconds of processor time that the analysis of a million objects may take.
const MOST_ANALYSIS: f64 = 0.3;

/// Processor time of the child and of the dump, both in milliseconds, and seconds of the analysis, of a million objects.
struct Round {
    child: f64,
    dump: f64,
    analysis: f64,
}

/// Measures some times.
///
/// # Errors
/// If something cannot be built or run, or the child takes more than a dump, or the analysis more than it may.
pub fn run() -> Result<()> {
    let folder = program::folder()?;
    let lifetrace = program::lifetrace()?;
    let columns = "objects,stopped_us,child_ms,dump_ms,heap_ms,file_bytes";
    let mut record = Record::open("snapshots", columns)?;
    let rounds = (0..ROUNDS).map(|_| measure(&lifetrace, &folder, &mut record));
    let rounds = rounds.collect::<Result<Vec<_>>>()?;
    let middle = |of: fn(&Round) -> f64| median(rounds.iter().map(of)).unwrap_or(f64::NAN);
    let (child, dump) = (middle(|it| it.child), middle(|it| it.dump));
    let analysis = middle(|it| it.analysis);
    println!("child {child:.0} ms, dump {dump:.0} ms, analysis {analysis:.3} s a million objects");
    ensure!(child <= dump, "the child takes more than a dump does");
    ensure!(analysis <= MOST_ANALYSIS, "the analysis takes more than {MOST_ANALYSIS} s");
    Ok(())
}

fn measure(lifetrace: &Path, folder: &Path, record: &mut Record) -> Result<Round> {
    let (trace, snapshot) = (folder.join("objects.lt"), folder.join("objects.lth"));
    let source = program::source("objects.rb").into();
    let words = ["ruby".into(), source, OBJECTS.to_string().into()];
    let dump = Asked::start(lifetrace, &trace, &words)?.ask(lifetrace, &snapshot)?.finish()?;
    let dump: f64 = dump.context("no dump")?.trim().parse()?;
    let Heap { objects, stopped_us, child_ms, .. } = read(&snapshot)?;
    let analysis = analyse(lifetrace, folder, &snapshot)?.cpu;
    let length = std::fs::metadata(&snapshot)?.len();
    let heap_ms = analysis * 1e3;
    record.add(&format!("{objects},{stopped_us},{child_ms:.1},{dump:.1},{heap_ms:.1},{length}"))?;
    Ok(Round { child: child_ms, dump, analysis: analysis * 1e6 / objects as f64 })
}

/// A program that is recorded, has said a line, and waits for one.
pub(super) struct Asked {
    recorder: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Asked {
    pub(super) fn start(lifetrace: &Path, trace: &Path, words: &[OsString]) -> Result<Asked> {
        let mut command = Command::new(lifetrace);
        command.args(["record", "-q", "-f", "-o"]).arg(trace).arg("--").args(words);
        let mut recorder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(recorder.stdout.take().context("a pipe")?).lines();
        ensure!(lines.next().transpose()?.is_some(), "the program has ended");
        Ok(Asked { recorder, lines })
    }

    /// Asks for a snapshot.
    pub(super) fn ask(self, lifetrace: &Path, snapshot: &Path) -> Result<Asked> {
        let children = format!("/proc/{0}/task/{0}/children", self.recorder.id());
        let pid = std::fs::read_to_string(children)?;
        let mut ask = Command::new(lifetrace);
        ask.args(["snapshot", "-q", "-f", "-o"]).arg(snapshot).arg(pid.trim());
        shell::run(ask)?;
        Ok(self)
    }

    /// Tells it to go on; what it says then.
    pub(super) fn finish(mut self) -> Result<Option<String>> {
        writeln!(self.recorder.stdin.take().context("a pipe")?)?;
        let said = self.lines.next().transpose()?;
        ensure!(self.recorder.wait()?.success(), "the program has failed");
        Ok(said)
    }
}

/// What a snapshot says.
pub(super) struct Heap {
    pub(super) objects: u64,
    pub(super) bytes: u64,
    /// For how many microseconds the program stood still.
    pub(super) stopped_us: u64,
    pub(super) child_ms: f64,
}

/// What the analysis takes.
pub(super) fn analyse(lifetrace: &Path, folder: &Path, snapshot: &Path) -> Result<Usage> {
    let (launcher, usage) = (Launcher::build(folder)?, folder.join("objects.usage"));
    let command = [lifetrace.into(), "heap".into(), snapshot.into()];
    let words = launcher.words(&usage, None, &[], &command);
    let mut measured = Command::new(&words[0]);
    measured.args(&words[1..]);
    shell::output(measured)?;
    launch::usage(&usage)
}

pub(super) fn read(path: &Path) -> Result<Heap> {
    let mut reader = Reader::open(File::open(path)?)?;
    let (mut objects, mut bytes) = (0, 0);
    while let Some(item) = reader.next()? {
        if let Item::Block { found: Found::Block(block), .. } = item {
            objects += 1;
            bytes += block.bytes;
        }
    }
    let outcome = reader.outcome().context("the snapshot is not whole")?.0.clone();
    let (stopped_us, child_ms) = (outcome.pause_ns / 1000, outcome.cpu_ns as f64 / 1e6);
    Ok(Heap { objects, bytes, stopped_us, child_ms })
}
