//! Sudden deaths, at random moments.
//!
//! The target is killed 200 times while it allocates as fast as it can. A file that the kernel keeps
//! says how many blocks it had got by then (`fixtures/targets/c/sudden.c`). Every other round is
//! exact: the trace must have all of them. The rest are sampled: the number of samples must be what
//! that of blocks leads to expect, within 6 standard deviations, so that 100 ms that were missing
//! would be noticed in all but the shortest rounds.
//!
//! The recorder is killed 20 times. The target (`steady.c`) must go on to its end as if nothing had
//! happened, and the trace must be readable up to at most 5 s before the death.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};

use super::random::Random;
use super::workshop::{Workshop, run_logged};
use crate::shell;

const TARGETS_KILLED: u64 = 200;
const RECORDERS_KILLED: u64 = 20;

/// The function in `sudden.c` that allocates, and the words of its blocks.
const FUNCTION: &str = "hazard_sudden";
const WORDS: i32 = 5;

/// 128 and the number of SIGKILL.
const KILLED: i32 = 137;

/// How far an estimate may be off, in standard deviations.
const DEVIATIONS: f64 = 6.0;

/// So many microseconds of a recorded program's life may be missing when the recorder is killed.
const MISSING_US: u64 = 5_000_000;

/// How long the program runs whose recorder is killed.
const STEADY_MILLIS: u64 = 7000;

/// Kills all.
///
/// # Errors
/// If a trace lacks what it should have, or a target suffers.
pub fn run() -> Result<()> {
    let workshop = Workshop::open("kills")?;
    kill_targets(&workshop)?;
    kill_recorders(&workshop)
}

fn kill_targets(workshop: &Workshop) -> Result<()> {
    let (program, mut random) = (fixture(workshop, "sudden")?, Random::new(1));
    let (mut blocks, mut worst) = (0u64, 0.0f64);
    for round in 0..TARGETS_KILLED {
        let exact = round % 2 == 0;
        // Exact rounds take longer than their program's life: it waits for the recorder.
        let micros = random.between(1, if exact { 200_000 } else { 999_999 });
        let (got, deviation) = kill_target(workshop, &program, exact, micros)
            .with_context(|| format!("round {round}: killed after {micros} us"))?;
        blocks += got;
        worst = worst.max(deviation.abs());
    }
    println!(
        "{TARGETS_KILLED} targets killed: every trace is whole; no block of {} is missing from exact \
         ones, and sampled ones are off by {worst:.1} standard deviations at most",
        blocks
    );
    Ok(())
}

/// Returns the number of blocks that the target got, and how far the trace's number is off.
fn kill_target(
    workshop: &Workshop,
    program: &Path,
    exact: bool,
    micros: u64,
) -> Result<(u64, f64)> {
    let traces = workshop.fresh_folder("traces")?;
    let (count, log) = (workshop.path("count"), workshop.path("log"));
    fs::write(&count, [0; 8])?;
    let rate: &[&str] = if exact { &["--rate", "1"] } else { &["--interval", "16KiB"] };
    let mut command = workshop.record(rate, &traces);
    command.arg(program).arg(micros.to_string()).arg(&count);
    let code = run_logged(command, &log)?;
    ensure!(code == KILLED, "exit code {code}");
    let found = workshop.look_through(&traces, &log)?;
    ensure!(found.complaints.is_empty(), "{}", found.complaints.join("\n"));
    let got = u64::from_ne_bytes(fs::read(&count)?.try_into().ok().context("no count")?);
    let heard = samples_of(workshop, &trace_of(&traces, "sudden.")?)?;
    if exact {
        // It may have died after the malloc and before it counted.
        ensure!((got..=got + 1).contains(&heard), "{heard} blocks in the trace, {got} were got");
        return Ok((got, 0.0));
    }
    let deviation = deviation(heard, got);
    ensure!(deviation.abs() <= DEVIATIONS, "{heard} samples of {got} blocks: {deviation:.1} sigma");
    Ok((0, deviation))
}

/// Of a binomial distribution; blocks hit while one dies may add one.
fn deviation(heard: u64, got: u64) -> f64 {
    let included = 1.0 - (1.0 - 8.0 / 16384.0f64).powi(WORDS);
    let expected = got as f64 * included;
    let sigma = (expected * (1.0 - included)).sqrt().max(1.0);
    (heard as f64 - expected) / sigma
}

/// The samples whose innermost function is [`FUNCTION`].
fn samples_of(workshop: &Workshop, trace: &Path) -> Result<u64> {
    let mut command = Command::new(workshop.lifetrace());
    command.args(["report", "--json", "--top", "1000"]).arg(trace);
    let report: serde_json::Value = serde_json::from_str(&shell::output(command)?)?;
    let callsites = report["callsites"].as_array().context("a report has callsites")?;
    let ours = callsites.iter().filter(|callsite| callsite["function"] == FUNCTION);
    Ok(ours.filter_map(|callsite| callsite["allocated"]["samples"].as_u64()).sum())
}

fn kill_recorders(workshop: &Workshop) -> Result<()> {
    let (program, mut random) = (fixture(workshop, "steady")?, Random::new(2));
    let mut worst = 0;
    for round in 0..RECORDERS_KILLED {
        let millis = random.between(500, STEADY_MILLIS - 1000);
        let missing = kill_recorder(workshop, &program, millis)
            .with_context(|| format!("round {round}: recorder killed after {millis} ms"))?;
        worst = worst.max(missing);
    }
    println!(
        "{RECORDERS_KILLED} recorders killed: all targets went on to their ends; at most {:.2} s \
         before the death are missing from a trace",
        worst as f64 / 1e6
    );
    Ok(())
}

/// Returns how many microseconds before the recorder's death the trace ends.
fn kill_recorder(workshop: &Workshop, program: &Path, millis: u64) -> Result<u64> {
    let traces = workshop.fresh_folder("traces")?;
    let script = format!("\"$0\" {STEADY_MILLIS}; echo code $?");
    let mut command = workshop.record(&["--rate", "1"], &traces);
    command.args(["sh", "-c", &script]).arg(program).stdout(Stdio::piped());
    let mut recorder = command.spawn()?;
    let mut told = recorder.stdout.take().context("stdout is a pipe")?;
    std::thread::sleep(Duration::from_millis(millis));
    let killed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as u64;
    recorder.kill()?;
    recorder.wait()?;
    let mut text = String::new();
    told.read_to_string(&mut text)?;
    ensure!(text == "done\ncode 0\n", "the target said {text:?}");
    let (info, _) = workshop.info_so_far(&trace_of(&traces, "steady.")?)?;
    let missing = killed.saturating_sub(info.end_us);
    ensure!(info.samples > 0 && info.unmatched_events == 0, "{info:?}");
    ensure!(missing <= MISSING_US, "{missing} us are missing");
    Ok(missing)
}

/// The trace whose name begins so.
fn trace_of(traces: &Path, start: &str) -> Result<PathBuf> {
    for entry in fs::read_dir(traces)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(start) {
            return Ok(entry.path());
        }
    }
    bail!("there is no trace {start}*")
}

/// Compiles a program of `fixtures/targets/c`, one frame for each function.
fn fixture(workshop: &Workshop, name: &str) -> Result<PathBuf> {
    let (source, program) = (format!("fixtures/targets/c/{name}.c"), workshop.path(name));
    let mut compiler = Command::new("gcc");
    compiler.args(["-O1", "-g", "-pthread", "-fno-builtin", "-fno-inline"]);
    compiler.arg(source).arg("-o").arg(&program);
    shell::run(compiler)?;
    Ok(program)
}
