//! Sizes and speeds of traces: runs the trace crate's own examples on real traces.
//!
//! One measures Memtrace's format, the other ours beside it; for that, instructions are counted too, by
//! valgrind's callgrind, since these are the same whatever else the machine does.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::record::Record;
use crate::shell;

const COLUMNS: &str = "trace,events,bytes,read_mevents_per_s,read_without_backtraces_mevents_per_s,write_mevents_per_s";

/// What stands right before each number in a line of the example.
const MARKS: &[&str] = &[": ", " events, ", ": read ", ", without backtraces ", ", write "];

/// Columns of the second record: those of the example's first line, but for the trace's name, and these.
const INSTRUCTIONS: &[&str] = &["write", "memtrace-write", "read", "skip"];

/// Measures one trace, or all of the fixtures.
///
/// # Errors
/// If the example fails, or prints what is not understood.
pub fn run(trace: Option<&Path>) -> Result<()> {
    let traces = trace.map_or_else(fixtures, |trace| Ok(vec![trace.to_owned()]))?;
    measure_memtrace(&traces)?;
    measure_lt(&traces)
}

fn measure_memtrace(traces: &[PathBuf]) -> Result<()> {
    let mut command =
        shell::cargo_command("run --release --quiet --package lifetrace-trace --example speed --");
    let printed = shell::output(with(&mut command, traces))?;
    let mut record = Record::open("trace", COLUMNS)?;
    printed.lines().try_for_each(|line| record.add(&row(line)?))
}

fn measure_lt(traces: &[PathBuf]) -> Result<()> {
    let mut command =
        shell::cargo_command("run --release --quiet --package lifetrace-trace --example lt --");
    let printed = shell::output(with(&mut command, traces))?;
    let (names, rows) = printed.split_once('\n').context("the example printed no rows")?;
    let counts: String = INSTRUCTIONS.iter().map(|what| format!(",{what}_instructions")).collect();
    let mut record = Record::open("lt", &format!("{names}{counts}"))?;
    for (row, trace) in rows.lines().zip(traces) {
        record.add(&format!("{row}{}", instructions(trace)?))?;
    }
    Ok(())
}

fn with(command: &mut Command, traces: &[PathBuf]) -> Command {
    let mut whole = Command::new(command.get_program());
    whole.args(command.get_args()).args(traces);
    whole
}

/// Instructions per event: those of a run that does one thing more than another.
fn instructions(trace: &Path) -> Result<String> {
    let (loading, events) = counted("load", trace)?;
    let mut fields = String::new();
    let mut writing = loading;
    for what in INSTRUCTIONS {
        let (count, _) = counted(what, trace)?;
        // What is to be read is written first.
        let before = if matches!(*what, "read" | "skip") { writing } else { loading };
        fields += &format!(",{}", count.saturating_sub(before) / events.max(1));
        if *what == "write" {
            writing = count;
        }
    }
    Ok(fields)
}

/// Instructions of a run, and the number of events that it prints.
fn counted(what: &str, trace: &Path) -> Result<(u64, u64)> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(shell::target_folder()?.join("release/examples/lt"))
        .args(["--once", what])
        .arg(trace)
        .stdin(Stdio::null())
        .output()
        .context("valgrind cannot be run")?;
    let (events, text) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let collected =
        text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    let collected = collected.with_context(|| format!("no count of instructions in:\n{text}"))?;
    Ok((collected, events.trim().parse().context("the example printed no number of events")?))
}

fn fixtures() -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir("fixtures/traces")?.collect::<Result<Vec<_>, _>>()?;
    let mut traces: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    traces.retain(|path| path.extension().is_some_and(|extension| extension == "ctf"));
    traces.sort();
    Ok(traces)
}

fn row(line: &str) -> Result<String> {
    let path = line.split(MARKS[0]).next().unwrap_or_default();
    let mut row = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut rest = line;
    for mark in MARKS {
        (_, rest) = rest.split_once(mark).with_context(|| format!("no {mark:?} in {line:?}"))?;
        row.push(',');
        row.extend(rest.chars().take_while(|letter| letter.is_ascii_digit() || *letter == '.'));
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_example_becomes_a_row() {
        let line = "a/b.ctf: 10 events, 200 bytes; M events/s: read 1.5, without backtraces 2.5, write 3.5; \
                    the copy has 200 bytes, of which 0 differ";
        assert_eq!(row(line).unwrap(), "b.ctf,10,200,1.5,2.5,3.5");
        assert!(row("something else").is_err());
    }
}
