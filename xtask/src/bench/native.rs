//! What recording costs: each workload bare and recorded in turn, compared pair by pair.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::cpu;
use super::record::Record;
use super::workload::{self, Workload};
use crate::shell;

const ROUNDS: usize = 5;

/// Name in the record, arguments of `record`.
const VARIANTS: &[(&str, &[&str])] = &[
    ("512KiB", &["--interval", "512KiB"]),
    ("64KiB", &["--interval", "64KiB"]),
    ("exact", &["--rate", "1"]),
];

const COLUMNS: &str =
    "workload,variant,rounds,cpu_ratio,bare_cpu_s,recorder_cpu_s,trace_bytes,samples";

/// One recorded run.
struct Recorded {
    target_seconds: f64,
    recorder_seconds: f64,
    trace_bytes: u64,
    samples: u64,
}

/// Measures every workload in every variant.
///
/// # Errors
/// If something cannot be built, run or written.
pub fn run() -> Result<()> {
    shell::cargo("build --release --package lifetrace-cli")?;
    let folder = shell::target_folder()?.join("bench");
    fs::create_dir_all(&folder)?;
    let mut record = Record::open("native", COLUMNS)?;
    for workload in workload::all(&folder)? {
        for variant in VARIANTS {
            record.add(&measure(&folder, &workload, variant)?)?;
        }
    }
    Ok(())
}

fn measure(
    folder: &Path,
    workload: &Workload,
    (variant, arguments): &(&str, &[&str]),
) -> Result<String> {
    let mut bare = Vec::new();
    let mut recorded = Vec::new();
    for _ in 0..ROUNDS {
        bare.push(cpu::run(&folder.join("bare"), workload.environment, &workload.command)?);
        recorded.push(record_once(folder, workload, arguments)?);
    }
    let ratio = median(bare.iter().zip(&recorded).map(|(bare, with)| with.target_seconds / bare));
    let last = recorded.last().context("no rounds")?;
    Ok(format!(
        "{},{variant},{ROUNDS},{ratio:.3},{:.3},{:.3},{},{}",
        workload.name,
        median(bare),
        median(recorded.iter().map(|run| run.recorder_seconds)),
        last.trace_bytes,
        last.samples,
    ))
}

/// The times nest: the outer shell's covers the recorder and the target, the inner shell's, which
/// is the recorded process, the target alone.
fn record_once(folder: &Path, workload: &Workload, arguments: &[&str]) -> Result<Recorded> {
    let traces = folder.join("traces");
    let _ = fs::remove_dir_all(&traces);
    fs::create_dir(&traces)?;
    let (inner, outer) = (folder.join("inner"), folder.join("outer"));
    let mut command: Vec<OsString> = vec![lifetrace()?.into(), "record".into(), "-q".into()];
    command.extend(arguments.iter().map(OsString::from));
    command.extend(["-o".into(), traces.join("%e.%p.ctf").into(), "--".into()]);
    command.extend(cpu::measured(&inner, &workload.command));
    let total = cpu::run(&outer, workload.environment, &command)?;
    let target_seconds = cpu::seconds(&inner)?;
    let trace = largest(&traces)?;
    Ok(Recorded {
        target_seconds,
        recorder_seconds: total - target_seconds,
        trace_bytes: fs::metadata(&trace)?.len(),
        samples: samples(&trace)?,
    })
}

fn lifetrace() -> Result<PathBuf> {
    Ok(shell::target_folder()?.join("release/lifetrace"))
}

/// The workload's trace: the measuring shell, which is recorded too, leaves a small one.
fn largest(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let paths = entries.into_iter().map(|entry| entry.path());
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |facts| facts.len());
    paths.max_by_key(size).context("the recorder has left no trace")
}

fn samples(trace: &Path) -> Result<u64> {
    let mut command = Command::new(lifetrace()?);
    command.args(["info", "--json"]).arg(trace);
    let facts: Value = serde_json::from_str(&shell::output(command)?)?;
    facts["trace"]["samples"].as_u64().context("lifetrace info --json has no trace.samples")
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
