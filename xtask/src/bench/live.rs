//! What the live page costs: processor time a second, of a heap with some 100,000 live samples in 60,000 backtraces, of
//! which 1,250 come and go each second.
//!
//! `script` gives it a terminal; what it writes there is thrown away.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::program;
use super::record::Record;
use crate::shell;

const ROUNDS: usize = 3;

/// The trace has been read by then, and the last minute has begun.
const BEFORE: Duration = Duration::from_secs(15);
const MEASURED: Duration = Duration::from_secs(30);

/// Of 160,000 blocks of 256 bytes about five in eight are hit.
const OPTIONS: [&str; 2] = ["--interval", "256"];

const COLUMNS: &str =
    "columns,live_samples,backtraces,percent_of_a_core,recorder_percent,resident_kib";

/// Measures pages of 80 and of 200 columns.
///
/// # Errors
/// If something cannot be built or run.
pub fn run() -> Result<()> {
    let folder = program::folder()?;
    let (lifetrace, heap) = (program::lifetrace()?, program::c(&folder, "live")?);
    let mut record = Record::open("live", COLUMNS)?;
    println!("{COLUMNS}");
    for columns in ["80", "200"] {
        for _ in 0..ROUNDS {
            record.add(&row(&folder, &lifetrace, &heap, columns)?)?;
        }
    }
    Ok(())
}

fn row(folder: &Path, lifetrace: &Path, heap: &Path, columns: &str) -> Result<String> {
    let trace = folder.join("live.lt");
    let mut command = Command::new(lifetrace);
    command.args(["record", "-q", "-f", "-o"]).arg(&trace).args(OPTIONS).arg("--").arg(heap);
    let mut recorder = Ends(command.stdout(Stdio::piped()).spawn()?);
    let mut said = String::new();
    let stdout = recorder.0.stdout.take().context("the program's output")?;
    BufReader::new(stdout).read_line(&mut said)?;
    ensure!(said == "ready\n", "the program said {said:?}");
    let pid = child(recorder.0.id())?;
    let page = format!("stty rows 50 cols {columns}; exec {} live {pid}", lifetrace.display());
    let mut command = Command::new("script");
    command.args(["-qec", &page, "/dev/null"]).env("TERM", "xterm-256color");
    let script = Ends(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?);
    sleep(BEFORE);
    let page = child(script.0.id())?;
    let begun = Instant::now();
    let before = [page, recorder.0.id()].map(cpu);
    sleep(MEASURED);
    let after = [page, recorder.0.id()].map(cpu);
    let seconds = begun.elapsed().as_secs_f64();
    let resident = resident_kib(page)?;
    let (samples, backtraces) = heap_of(lifetrace, pid)?;
    let [page, recorder] = [0, 1].map(|at| 100.0 * (after[at] - before[at]) / seconds);
    ensure!(page > 0.0, "the page did not run");
    shell::run({
        let mut kill = Command::new("kill");
        kill.arg(pid.to_string());
        kill
    })?;
    Ok(format!("{columns},{samples},{backtraces},{page:.2},{recorder:.2},{resident}"))
}

/// Ends with what measures it.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process that another one has started, once it has.
fn child(parent: u32) -> Result<u32> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))?;
    children.split_whitespace().last().and_then(|pid| pid.parse().ok()).context("there is no child")
}

/// Seconds of processor time.
fn cpu(pid: u32) -> f64 {
    /// Clock ticks a second, as Linux tells all programs.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS
}

fn resident_kib(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()).context("no VmRSS")
}

/// Live samples, and callsites' backtraces that are in the trace.
fn heap_of(lifetrace: &Path, pid: u32) -> Result<(u64, u64)> {
    let mut command = Command::new(lifetrace);
    command.args(["live", "--once", "--json", &pid.to_string()]);
    let document: Value = serde_json::from_str(&shell::output(command)?)?;
    let process = &document["processes"][0];
    let number = |value: &Value| value.as_u64().context("no such number");
    Ok((number(&process["totals"]["live"]["samples"])?, number(&process["backtraces"])?))
}
