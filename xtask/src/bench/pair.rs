//! What an unsampled pair of malloc and free costs: instructions, counted by valgrind's callgrind, which
//! gives the same number whatever else the machine does.
//!
//! The program runs with two numbers of pairs; the difference leaves out its start, and ours.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::record::Record;
use crate::shell;

const FEW: u64 = 100_000;
const MANY: u64 = 1_100_000;

/// So long that no pair is sampled.
const INTERVAL: &str = "1024GiB";

/// Counts the instructions of a pair, bare and recorded.
///
/// # Errors
/// If something cannot be built or run, or valgrind prints no count.
pub fn run() -> Result<()> {
    shell::cargo("build --release --package lifetrace-cli")?;
    let target = shell::target_folder()?;
    let program = build(&target)?;
    let trace = target.join("pair.ctf");
    let (lifetrace, trace) = (target.join("release/lifetrace"), trace.as_path());
    let recorded = [
        lifetrace.as_path(),
        Path::new("record"),
        Path::new("-q"),
        Path::new("-f"),
        Path::new("--interval"),
        Path::new(INTERVAL),
        Path::new("-o"),
        trace,
        Path::new("--"),
    ];
    let mut record = Record::open("pair", "variant,instructions_per_pair")?;
    let (bare, recorded) = (per_pair(&[], &program)?, per_pair(&recorded, &program)?);
    record.add(&format!("bare,{bare:.1}"))?;
    record.add(&format!("recorded,{recorded:.1}"))?;
    println!("an unsampled pair costs {:.1} instructions more", recorded - bare);
    Ok(())
}

fn build(target: &Path) -> Result<PathBuf> {
    let program = target.join("pair");
    let mut compiler = Command::new("gcc");
    compiler.args(["-O1", "-fno-builtin", "benchmarks/workloads/pair.c", "-o"]).arg(&program);
    shell::run(compiler)?;
    Ok(program)
}

fn per_pair(before: &[&Path], program: &Path) -> Result<f64> {
    let (few, many) = (instructions(before, program, FEW)?, instructions(before, program, MANY)?);
    Ok((many - few) as f64 / (MANY - FEW) as f64)
}

fn instructions(before: &[&Path], program: &Path, pairs: u64) -> Result<u64> {
    let valgrind =
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"].map(Path::new);
    let words: Vec<&Path> = before.iter().copied().chain(valgrind).chain([program]).collect();
    let output = Command::new(words[0])
        .args(&words[1..])
        .arg(pairs.to_string())
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} cannot be run", words[0].display()))?;
    let text = String::from_utf8_lossy(&output.stderr);
    collected(&text).with_context(|| format!("no count of instructions in:\n{text}"))
}

/// The number in valgrind's line `==123== Collected : 456`.
fn collected(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found() {
        assert_eq!(collected("==1== Events    : Ir\n==1== Collected : 156\n"), Some(156));
        assert_eq!(collected("valgrind: no such program"), None);
    }
}
