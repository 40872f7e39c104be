//! Programs that run are attached to 200 times each: none dies, none says anything else than it would.
//!
//! Each is a script beside this file. It starts the program and gives it work, says `ready` and which processes are to be
//! attached to, and when its input ends it looks whether all answers were right; then it ends with 0. An attachment lasts
//! 50 ms. Of those that have a heap of OCaml's or Ruby's, objects have to be in nearly all of the traces. The longest pauses are told, and on a machine with nothing else to do they are what the program feels of it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::fixture::{library, program};
use super::workshop::Workshop;

const ROUNDS: usize = 200;

/// How long each lasts.
const DURATION: &str = "50ms";

/// After so many seconds an attachment is taken to hang.
const PATIENCE: &str = "60";

const CASES: [(&str, &str); 11] = [
    ("threads", include_str!("threads.sh")),
    ("crowd", include_str!("crowd.sh")),
    ("waits", include_str!("waits.sh")),
    ("redis", include_str!("redis.sh")),
    ("nginx", include_str!("nginx.sh")),
    ("postgres", include_str!("postgres.sh")),
    ("python", include_str!("python.sh")),
    ("ocaml", include_str!("ocaml.sh")),
    ("puma", include_str!("puma.sh")),
    ("forks", include_str!("forks.sh")),
    ("opens", include_str!("opens.sh")),
];

/// Runs all of them, or those that are named; the first word may be how many rounds.
///
/// # Errors
/// If one fails, or cannot be run.
pub fn run(words: &[&str]) -> Result<()> {
    let (rounds, names) = match words.split_first() {
        Some((first, names)) if first.parse::<usize>().is_ok() => (first.parse()?, names),
        _ => (ROUNDS, words),
    };
    for name in names {
        ensure!(CASES.iter().any(|(known, _)| known == name), "there is no program {name}");
    }
    let workshop = Workshop::open("attach")?;
    let attached = program(&workshop.path(""), "attached", "c/attached.c", &[])?;
    let plugin = library(&workshop.path(""), "plugin", "c/plugin.c", &[])?;
    println!("{:9} attached   borrowed (ms): median p95 max   all stand still: median p95 max", "");
    let mut failed = Vec::new();
    for (name, script) in CASES {
        if names.is_empty() || names.contains(&name) {
            let case = Case { name, script, attached: &attached, plugin: &plugin };
            if let Err(error) = case.run(&workshop, rounds) {
                println!("{name:9} {error:#}");
                failed.push(name);
            }
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// Programs with a heap of a runtime's, that, and a rate at which they make dozens of samples of it in so short a time: of
/// OCaml's words, of Ruby's objects.
const MANAGED: [(&str, &str, &str); 2] = [("ocaml", "ocaml", "1e-4"), ("puma", "ruby", "1e-2")];

/// Of their traces, such a share has samples of that heap: a runtime may come to no safe place within 50 ms.
const HEARD: f64 = 0.9;

struct Case<'a> {
    name: &'a str,
    script: &'a str,
    attached: &'a Path,
    plugin: &'a Path,
}

/// A program at work.
struct Subject {
    script: Child,
    input: Option<ChildStdin>,
    processes: Vec<String>,
}

/// What a process has felt, in milliseconds.
#[derive(Default)]
struct Pauses {
    borrowed: Vec<f64>,
    all: Vec<f64>,
}

impl Case<'_> {
    fn run(&self, workshop: &Workshop, rounds: usize) -> Result<()> {
        let folder = workshop.fresh_folder(self.name)?;
        let mut subject = self.start(&folder)?;
        let (mut pauses, mut complaints) = (Pauses::default(), Vec::new());
        let managed = MANAGED.iter().find(|it| it.0 == self.name);
        let rate = managed.map_or("1e-4", |it| it.2);
        let mut heard = 0;
        for round in 0..rounds {
            let process = &subject.processes[round % subject.processes.len()];
            match attach(workshop, process, &folder, rate) {
                Ok((borrowed, all)) => {
                    pauses.borrowed.push(borrowed);
                    pauses.all.push(all);
                    let trace = folder.join(format!("trace.{process}.lt"));
                    let is_heard = managed.is_some_and(|it| has_samples(workshop, &trace, it.1));
                    heard += usize::from(is_heard);
                }
                Err(error) => complaints.push(format!("{error:#}")),
            }
        }
        let verdict = subject.finish();
        println!(
            "{:9} {}/{rounds}   {}   {}   {}",
            self.name,
            pauses.all.len(),
            spread(&mut pauses.borrowed),
            spread(&mut pauses.all),
            if verdict.is_ok() { "and all was right" } else { "and something was WRONG" },
        );
        complaints.dedup();
        complaints.iter().for_each(|complaint| println!("          {complaint}"));
        verdict?;
        if managed.is_some() {
            println!("{:9} of {heard} the runtime's heap was sampled", "");
            ensure!(heard as f64 >= HEARD * rounds as f64, "its heap was sampled too rarely");
        }
        ensure!(pauses.all.len() == rounds, "{} attachments failed", rounds - pauses.all.len());
        Ok(())
    }

    fn start(&self, folder: &Path) -> Result<Subject> {
        let mut command = Command::new("sh");
        command.args(["-c", self.script]).current_dir(folder);
        command.env("ATTACHED", self.attached).env("PLUGIN", self.plugin);
        let mut script = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = script.stdout.take().context("no output")?;
        let input = script.stdin.take();
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let processes = line.strip_prefix("ready ").unwrap_or_default().split_whitespace();
        let processes: Vec<String> = processes.map(str::to_owned).collect();
        ensure!(!processes.is_empty(), "it does not start: {line:?}; see {}", folder.display());
        Ok(Subject { script, input, processes })
    }
}

impl Subject {
    fn finish(&mut self) -> Result<()> {
        drop(self.input.take());
        let status = self.script.wait()?;
        ensure!(status.success(), "the program did not do as it should: {status}");
        Ok(())
    }
}

/// For how long the borrowed thread stood still, and for how long all.
fn attach(workshop: &Workshop, process: &str, folder: &Path, rate: &str) -> Result<(f64, f64)> {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE).arg(workshop.lifetrace()).args(["attach", process, "-f"]);
    command
        .args(["--duration", DURATION, "--rate", rate, "--interval", "512KiB", "-o"])
        .arg(folder.join("trace.%p.lt"));
    let output = command.stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("{}: {}", output.status, said.lines().last().unwrap_or_default());
    }
    let after = |words: &str| {
        let (_, rest) = said.split_once(words)?;
        let (number, unit) = rest.split_once(' ')?;
        let factor = if unit.starts_with("ms") { 1.0 } else { 1000.0 };
        Some(number.parse::<f64>().ok()? * factor)
    };
    let pauses = after("was borrowed for ").zip(after("stood still for "));
    pauses.with_context(|| format!("it says {said:?}"))
}

/// Whether a trace has samples of a heap.
fn has_samples(workshop: &Workshop, trace: &Path, heap: &str) -> bool {
    let mut command = Command::new(workshop.lifetrace());
    command.args(["report", "--json", "--filter", &format!("source={heap}")]).arg(trace);
    let output = command.output().map(|it| it.stdout).unwrap_or_default();
    let page: serde_json::Value = serde_json::from_slice(&output).unwrap_or_default();
    page["totals"]["allocated"]["samples"].as_u64().is_some_and(|count| count > 0)
}

/// The median, the 95th percentile and the greatest of some figures.
fn spread(figures: &mut [f64]) -> String {
    figures.sort_by(f64::total_cmp);
    let at = |share: f64| figures.get((share * (figures.len() as f64 - 1.0)) as usize);
    let texts = [0.5, 0.95, 1.0].map(|share| at(share).map_or("-".into(), |it| format!("{it:.2}")));
    texts.join(" ")
}
