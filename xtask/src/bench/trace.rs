//! Speed of the trace reader and writer: runs the trace crate's own example on real traces.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::record::Record;
use crate::shell;

const COLUMNS: &str = "trace,events,bytes,read_mevents_per_s,read_without_backtraces_mevents_per_s,write_mevents_per_s";

/// What stands right before each number in a line of the example.
const MARKS: &[&str] = &[": ", " events, ", ": read ", ", without backtraces ", ", write "];

/// Measures one trace, or all of the fixtures.
///
/// # Errors
/// If the example fails, or prints what is not understood.
pub fn run(trace: Option<&Path>) -> Result<()> {
    let mut command =
        shell::cargo_command("run --release --quiet --package lifetrace-trace --example speed --");
    command.args(trace.map_or_else(fixtures, |trace| Ok(vec![trace.to_owned()]))?);
    let printed = shell::output(command)?;
    let mut record = Record::open("trace", COLUMNS)?;
    printed.lines().try_for_each(|line| record.add(&row(line)?))
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
