//! Snapshots of real programs: each does what it does bare, a hundred snapshots or more, and each of those is whole.
//!
//! Of OCaml and Ruby programs heaps are taken; native ones are looked through for lost blocks. A failure is another
//! output, exit code or result than that of the bare run, a snapshot that cannot be read to its end, or a trace that
//! cannot be.

mod works;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use self::works::{Looked, WORKS, Work};
use super::fixture;
use super::smaps::descendants;
use super::workshop::Workshop;

/// Of each program.
const WANTED: usize = 100;

/// A run in which no snapshot could be taken is no run of use; after so many of them we give up.
const MOST_RUNS: usize = 200;

const OPTIONS: &[&str] =
    &["--snapshot-every", "100ms", "--snapshot-after-gc", "1", "--snapshot-at-exit"];

/// Between two questions, so that a program comes to something.
const PAUSE: Duration = Duration::from_millis(50);

/// What can be seen of a run: whether it succeeded, what it printed, and its results.
#[derive(PartialEq)]
struct Seen {
    status: ExitStatus,
    output: String,
    results: BTreeMap<PathBuf, Vec<u8>>,
}

/// What has been taken of a program so far.
#[derive(Default)]
struct Figures {
    runs: usize,
    snapshots: usize,
    bytes: u64,
    looks: usize,
    refused: BTreeMap<String, usize>,
}

/// Runs all of them, or those that are named.
///
/// # Errors
/// If one differs, or a snapshot is damaged, or something cannot be run.
pub fn run(names: &[&str]) -> Result<()> {
    let workshop = Workshop::open("snapshots")?;
    let is_wanted = |work: &&Work| names.is_empty() || names.contains(&work.name);
    let works: Vec<&Work> = WORKS.iter().filter(is_wanted).collect();
    ensure!(!works.is_empty(), "nothing was run: there is nothing of that name");
    for work in works {
        work.need()?;
        let figures = check(&workshop, work).with_context(|| work.name)?;
        println!("{}: {figures}", work.name);
    }
    Ok(())
}

fn check(workshop: &Workshop, work: &Work) -> Result<Figures> {
    let place = prepared(workshop, work)?;
    let expected = seen(work, &place, shell(work.script, &place).spawn()?)?;
    ensure!(
        expected.status.success(),
        "it does not run bare: {} {:?}",
        expected.status,
        expected.output
    );
    let mut figures = Figures::default();
    while figures.taken() < WANTED && figures.runs < MOST_RUNS {
        figures.runs += 1;
        let place = prepared(workshop, work)?;
        let found = recorded(workshop, work, &place, &mut figures)?;
        ensure!(found == expected, "run {}: {}", figures.runs, difference(&expected, &found));
    }
    ensure!(figures.taken() >= WANTED, "{figures}");
    Ok(figures)
}

/// A fresh folder with what the program works on.
fn prepared(workshop: &Workshop, work: &Work) -> Result<PathBuf> {
    let place = workshop.fresh_folder("place")?;
    let mut prepare = shell(work.prepare, &place);
    ensure!(prepare.status()?.success(), "{}", work.prepare);
    Ok(place)
}

fn shell(script: &str, place: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    at(command, place)
}

fn at(mut command: Command, place: &Path) -> Command {
    command.current_dir(place).env("FIXTURES", fixture::source(""));
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

fn recorded(workshop: &Workshop, work: &Work, place: &Path, figures: &mut Figures) -> Result<Seen> {
    let traces = workshop.fresh_folder("traces")?;
    let options: &[&str] = if work.looked == Looked::WhileItRuns { OPTIONS } else { &[] };
    let mut command = at(workshop.record(options, &traces), place);
    command.args(["sh", "-c", work.script]);
    let mut recorder = command.spawn()?;
    if work.looked == Looked::FromOutside {
        ask_on(workshop, work, &mut recorder, figures)?;
    }
    let seen = seen(work, place, recorder)?;
    for file in fs::read_dir(traces)? {
        count(workshop, &file?.path(), figures)?;
    }
    Ok(seen)
}

/// Asks for snapshots of the program's processes until it ends.
fn ask_on(
    workshop: &Workshop,
    work: &Work,
    recorder: &mut Child,
    figures: &mut Figures,
) -> Result<()> {
    while recorder.try_wait()?.is_none() {
        for pid in descendants(recorder.id()) {
            if name_of(pid).is_some_and(|name| work.process.starts_with(&name)) {
                ask(workshop, pid, figures)?;
            }
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// The kernel's, of fifteen bytes.
fn name_of(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim().to_owned())
}

fn ask(workshop: &Workshop, pid: u32, figures: &mut Figures) -> Result<()> {
    let output =
        Command::new(workshop.lifetrace()).arg("snapshot").arg(pid.to_string()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        // Numbers differ from time to time.
        let reason = said.replace(|it: char| it.is_ascii_digit(), "");
        *figures.refused.entry(reason.trim().to_owned()).or_default() += 1;
    } else if said.contains("looked through") {
        figures.looks += 1;
    }
    Ok(())
}

fn seen(work: &Work, place: &Path, child: Child) -> Result<Seen> {
    let output = child.wait_with_output()?;
    let mut results = BTreeMap::new();
    for name in work.results {
        read(&place.join(name), &mut results).with_context(|| name.to_string())?;
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(Seen { status: output.status, output: text, results })
}

/// The contents of a file, or of all files of a folder.
fn read(path: &Path, results: &mut BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            read(&entry?.path(), results)?;
        }
    } else {
        results.insert(path.to_owned(), fs::read(path)?);
    }
    Ok(())
}

/// Counts a file that recording has left, after it has been read to its end.
fn count(workshop: &Workshop, file: &Path, figures: &mut Figures) -> Result<()> {
    let check = Command::new(workshop.lifetrace()).arg("check").arg(file).output()?;
    ensure!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
    if file.extension().is_some_and(|it| it == "lth") {
        figures.snapshots += 1;
        figures.bytes += file.metadata()?.len();
    }
    Ok(())
}

/// In words: outputs may be long.
fn difference(expected: &Seen, found: &Seen) -> String {
    if expected.results == found.results {
        return format!(
            "{} and {:?} instead of {} and {:?}",
            found.status, found.output, expected.status, expected.output
        );
    }
    let differs = |path: &&PathBuf| expected.results.get(*path) != found.results.get(*path);
    let mut paths = expected.results.keys().chain(found.results.keys()).filter(differs);
    format!("another {}", paths.next().map_or_else(String::new, |it| it.display().to_string()))
}

impl Figures {
    fn taken(&self) -> usize {
        self.snapshots + self.looks
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} runs as it is bare, {} snapshots", self.runs, self.snapshots)?;
        if let Some(mean) = self.bytes.checked_div(self.snapshots as u64) {
            write!(f, " of {mean} bytes each")?;
        }
        write!(f, ", looked through {} times", self.looks)?;
        self.refused.iter().try_for_each(|(reason, times)| write!(f, "\n  {times} times: {reason}"))
    }
}
