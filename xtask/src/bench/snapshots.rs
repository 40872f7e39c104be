//! What a snapshot of a Ruby program's heap costs, beside a dump that the machine makes itself: for how long the program
//! stands still, what the child takes, and how long it takes to analyse the file.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use lifetrace_trace::lth::Reader;

use super::launch::{self, Launcher};
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
    let mut command = Command::new(lifetrace);
    command.args(["record", "-q", "-f", "-o"]).arg(&trace).args(["--", "ruby"]);
    command.arg(program::source("objects.rb")).arg(OBJECTS.to_string());
    let mut running = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(running.stdout.take().context("a pipe")?).lines();
    ensure!(lines.next().transpose()?.is_some(), "the program has ended");
    let children = format!("/proc/{0}/task/{0}/children", running.id());
    let pid = std::fs::read_to_string(children)?;
    let mut ask = Command::new(lifetrace);
    ask.args(["snapshot", "-q", "-f", "-o"]).arg(&snapshot).arg(pid.trim());
    shell::run(ask)?;
    writeln!(running.stdin.take().context("a pipe")?)?;
    let dump: f64 = lines.next().transpose()?.context("no dump")?.trim().parse()?;
    ensure!(running.wait()?.success(), "the program has failed");
    let (objects, stopped, child) = read(&snapshot)?;
    let analysis = analyse(lifetrace, folder, &snapshot)?;
    let length = std::fs::metadata(&snapshot)?.len();
    let heap_ms = analysis * 1e3;
    record.add(&format!("{objects},{stopped},{child:.1},{dump:.1},{heap_ms:.1},{length}"))?;
    Ok(Round { child, dump, analysis: analysis * 1e6 / objects as f64 })
}

/// Seconds of processor time.
fn analyse(lifetrace: &Path, folder: &Path, snapshot: &Path) -> Result<f64> {
    let (launcher, usage) = (Launcher::build(folder)?, folder.join("objects.usage"));
    let command = [lifetrace.into(), "heap".into(), snapshot.into()];
    let words = launcher.words(&usage, None, &[], &command);
    let mut measured = Command::new(&words[0]);
    measured.args(&words[1..]);
    shell::output(measured)?;
    Ok(launch::usage(&usage)?.cpu)
}

/// How many objects, for how many microseconds the program stood still, and the child's milliseconds.
fn read(path: &Path) -> Result<(u64, u64, f64)> {
    let mut reader = Reader::open(File::open(path)?)?;
    let mut objects = 0;
    while let Some(item) = reader.next()? {
        objects += u64::from(matches!(item, lifetrace_trace::lth::Item::Block { .. }));
    }
    let outcome = reader.outcome().context("the snapshot is not whole")?.0.clone();
    Ok((objects, outcome.pause_ns / 1000, outcome.cpu_ns as f64 / 1e6))
}
