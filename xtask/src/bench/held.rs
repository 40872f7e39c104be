//! What it costs to look through a program for lost blocks: for how long it stands still, and what the recorder takes.
//!
//! A program makes a heap of small blocks that point to each other, and ends.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::program;
use super::record::Record;
use crate::shell;

/// Heaps, in MiB.
const HEAPS: [&str; 2] = ["1024", "2048"];

const ROUNDS: usize = 5;

/// Measures each heap some times.
///
/// # Errors
/// If something cannot be built or run.
pub fn run() -> Result<()> {
    let folder = program::folder()?;
    let (lifetrace, held) = (program::lifetrace()?, program::c(&folder, "held")?);
    let columns = "heap_mib,read_bytes,stopped_us,gb_per_second,recorder_kib";
    let mut record = Record::open("held", columns)?;
    for heap in HEAPS {
        for _ in 0..ROUNDS {
            let trace = folder.join("held.lt");
            let recorder = recorder_kib(start(&lifetrace, &held, heap, &trace)?)?;
            let (read, stopped) = look(&lifetrace, &trace)?;
            let speed = read / stopped / 1e3;
            record.add(&format!("{heap},{read:.0},{stopped:.0},{speed:.2},{recorder}"))?;
        }
    }
    Ok(())
}

fn start(lifetrace: &Path, held: &Path, heap: &str, trace: &Path) -> Result<Child> {
    let mut command = Command::new(lifetrace);
    command.args(["record", "-q", "-f", "-o"]).arg(trace).arg("--").arg(held).arg(heap);
    Ok(command.stdout(Stdio::null()).spawn()?)
}

/// The most memory that the recorder was seen to have.
fn recorder_kib(mut recorder: Child) -> Result<u64> {
    let status = format!("/proc/{}/status", recorder.id());
    let mut most = 0;
    while recorder.try_wait()?.is_none() {
        let told = fs::read_to_string(&status).unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
        most = most.max(kib.unwrap_or(0));
        sleep(Duration::from_millis(5));
    }
    let status = recorder.wait()?;
    ensure!(status.success(), "the program ended with {status}");
    Ok(most)
}

/// How many bytes were read, and for how many microseconds the program stood still.
fn look(lifetrace: &Path, trace: &Path) -> Result<(f64, f64)> {
    let mut command = Command::new(lifetrace);
    command.arg("dump").arg(trace);
    let dump = shell::output(command)?;
    let line = dump.lines().find(|line| line.contains("\tlooked\t"));
    let line = line.context("there was no look")?;
    let figure = |name: &str| -> Result<f64> {
        let field = line.split('\t').find_map(|field| field.strip_prefix(name));
        Ok(field.with_context(|| format!("no {name} in {line}"))?.parse()?)
    };
    Ok((figure("bytes=")?, figure("stopped_us=")?))
}
