//! How long the viewer's page takes to answer, in headless Chromium: pages of synthetic traces.
//!
//! `viewer/test/bench/run.mjs` opens a page and asks its engine many things; this makes the pages, and keeps the record.
//! A page is also measured by its size, and by how long it takes to be made.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::program;
use super::record::Record;
use crate::{shell, synth, viewer};

/// About half of a synthetic trace's events are births.
const EVENTS: [(&str, &str); 2] = [("100k", "200k"), ("1M", "2M")];

const COLUMNS: &str = "trace,name,samples,median_ms,worst_ms,page_bytes,made_s";

/// Measures each page.
///
/// # Errors
/// If something cannot be built or run.
pub fn run() -> Result<()> {
    let folder = program::folder()?;
    let lifetrace = program::lifetrace()?;
    let mut record = Record::open("viewer", COLUMNS)?;
    println!("{COLUMNS}");
    for (name, events) in EVENTS {
        let (page, made) = page(&folder, &lifetrace, events)?;
        let bytes = std::fs::metadata(&page)?.len();
        let rows = ask(&page)?;
        ensure!(!rows.is_empty(), "the benchmark printed no rows");
        rows.iter().try_for_each(|row| record.add(&format!("{name},{row},{bytes},{made:.2}")))?;
        std::fs::remove_file(&page)?;
    }
    Ok(())
}

/// The page of a trace, and the seconds in which it was made.
fn page(folder: &Path, lifetrace: &Path, events: &str) -> Result<(PathBuf, f64)> {
    let (trace, page) = (folder.join("viewer.lt"), folder.join("viewer.html"));
    let name = trace.to_str().context("the target folder's name is not UTF-8")?;
    synth::run(&["--stacks", "mixed", "--events", events, "-f", "-o", name])?;
    let begun = Instant::now();
    let mut command = Command::new(lifetrace);
    command.args(["export", "-F", "html", "-f", "-o"]).args([&page, &trace]);
    let status = command.stdin(Stdio::null()).status()?;
    ensure!(status.success(), "lifetrace export: {status}");
    let made = begun.elapsed().as_secs_f64();
    std::fs::remove_file(&trace)?;
    Ok((page, made))
}

/// A row for each line that the benchmark prints.
fn ask(page: &Path) -> Result<Vec<String>> {
    let mut command = Command::new("node");
    command.arg("test/bench/run.mjs").arg(page).current_dir(viewer::folder());
    shell::output(command)?.lines().map(row).collect()
}

fn row(line: &str) -> Result<String> {
    let fields: Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
    let number = |name: &str| {
        let number = fields[name].as_f64();
        number.with_context(|| format!("no number {name} in {line}"))
    };
    let name = fields["name"].as_str().with_context(|| format!("no name in {line}"))?;
    let (samples, median, worst) = (number("samples")?, number("median_ms")?, number("worst_ms")?);
    // What is asked may have commas in it.
    Ok(format!("{},{samples},{median:.2},{worst:.2}", name.replace([',', '\n'], ";")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_all_columns() {
        let line = r#"{"name": "size > 1KiB, not freed", "samples": 1000, "median_ms": 3.14159, "worst_ms": 7}"#;
        let row = row(line).unwrap();
        assert_eq!(row, "size > 1KiB; not freed,1000,3.14,7.00");
        let all = format!("1M,{row},7,1.00");
        assert_eq!(all.split(',').count(), COLUMNS.split(',').count());
        assert!(super::row("{}").is_err() && super::row("x").is_err());
    }
}
