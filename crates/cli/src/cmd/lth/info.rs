//! `lifetrace info` of a snapshot.

use std::fmt::Write;
use std::fs::File;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use lifetrace_human as human;
use lifetrace_human::{calendar, json_text};
use lifetrace_trace::ids::Timestamp;
use lifetrace_trace::lth::Outcome;
use serde::Serialize;

use super::reading::Reading;
use crate::terminal;

#[derive(Serialize)]
struct Document<'a> {
    snapshot: Facts<'a>,
    damages: Vec<String>,
}

/// What is known of a snapshot.
#[derive(Serialize)]
struct Facts<'a> {
    file: String,
    file_bytes: u64,
    program: &'a str,
    pid: u64,
    number: u32,
    /// In nanoseconds since the Unix epoch.
    time_ns: u64,
    runtime: &'a str,
    cause: &'a str,
    trace: Option<&'a str>,
    labels: Vec<Named<'a, &'a str>>,
    kinds: u64,
    roots: u64,
    blocks: u64,
    bytes: u64,
    outside_bytes: u64,
    sites: u64,
    samples: u64,
    /// Whether it was finished, and all of the heap is in it.
    is_complete: bool,
    /// Those that follow are `null` if it was not finished.
    pause_ns: Option<u64>,
    cpu_ns: Option<u64>,
    private_bytes: Option<u64>,
    copied_bytes: Option<u64>,
    figures: Vec<Named<'a, u64>>,
}

#[derive(Serialize)]
struct Named<'a, T> {
    name: &'a str,
    value: T,
}

pub(in super::super) fn info(path: &Path, file: File, as_json: bool) -> anyhow::Result<ExitCode> {
    let reading = Reading::of(file).with_context(|| path.display().to_string())?;
    let facts = Facts::of(path, &reading);
    let damages: Vec<String> = reading.damages.iter().map(ToString::to_string).collect();
    let text = match as_json {
        true => json_text::pretty(&Document { snapshot: facts, damages: damages.clone() })?,
        false => facts.text(),
    };
    terminal::print(&text)?;
    let complaints: Vec<String> = damages.into_iter().chain(reading.lack()).collect();
    for complaint in &complaints {
        terminal::complain(format_args!("{}: {complaint}", path.display()));
    }
    Ok(if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl<'a> Facts<'a> {
    fn of(path: &Path, reading: &'a Reading) -> Facts<'a> {
        let (header, counted) = (&reading.header, reading.counted);
        let outcome = reading.outcome.as_ref().map(|(outcome, _)| outcome);
        let of_outcome = |figure: fn(&Outcome) -> u64| outcome.map(figure);
        Facts {
            file: path.display().to_string(),
            file_bytes: reading.file_bytes,
            program: &header.program,
            pid: header.pid,
            number: header.number,
            time_ns: header.time,
            runtime: &header.runtime,
            cause: &header.cause,
            trace: header.trace.as_deref(),
            labels: header
                .labels
                .iter()
                .map(|(name, value)| Named { name, value: &**value })
                .collect(),
            kinds: counted.kinds,
            roots: counted.roots,
            blocks: counted.blocks,
            bytes: reading.bytes,
            outside_bytes: reading.outside,
            sites: counted.sites,
            samples: counted.samples,
            is_complete: reading.damages.is_empty() && reading.lack().is_none(),
            pause_ns: of_outcome(|it| it.pause_ns),
            cpu_ns: of_outcome(|it| it.cpu_ns),
            private_bytes: of_outcome(|it| it.private_bytes),
            copied_bytes: of_outcome(|it| it.copied_bytes),
            figures: outcome
                .iter()
                .flat_map(|it| &it.figures)
                .map(|(name, value)| Named { name, value: *value })
                .collect(),
        }
    }

    fn text(&self) -> String {
        let bytes = |bytes: u64| human::bytes(bytes as f64);
        let count = |count: u64| human::count(count as f64);
        let name = Path::new(&self.file).file_name().unwrap_or_default().to_string_lossy();
        let mut lines = vec![
            ("file", format!("{name}, {}", human::exact_bytes(self.file_bytes as f64))),
            ("format", "heap snapshot".to_owned()),
            ("executable", self.program.to_owned()),
            ("process", self.pid.to_string()),
            ("runtime", self.runtime.to_owned()),
            (
                "taken",
                format!("{}: {}", calendar::readable(Timestamp(self.time_ns / 1000)), self.cause),
            ),
            ("number", self.number.to_string()),
        ];
        lines.extend(self.trace.map(|trace| ("trace", trace.to_owned())));
        let outside = match self.outside_bytes {
            0 => String::new(),
            outside => format!(", and {} beside the heap", bytes(outside)),
        };
        let blocks = format!("{}, {}{outside}", count(self.blocks), bytes(self.bytes));
        lines.push(("blocks", blocks));
        lines.push(("roots", count(self.roots)));
        lines.push(("samples", format!("{} of {} sites", count(self.samples), count(self.sites))));
        lines.extend(self.cost().map(|cost| ("cost", cost)));
        lines.extend(
            self.labels.iter().map(|label| ("label", format!("{}: {}", label.name, label.value))),
        );
        lines.extend(self.figures.iter().map(|figure| {
            let is_bytes = figure.name.ends_with("bytes");
            let value = if is_bytes { bytes(figure.value) } else { count(figure.value) };
            ("figure", format!("{}: {value}", figure.name))
        }));
        let width = lines.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
        lines.iter().fold(String::new(), |mut text, (key, value)| {
            let _ = writeln!(text, "{key:width$}  {}", human::printable(value));
            text
        })
    }

    fn cost(&self) -> Option<String> {
        let (pause, cpu) = (self.pause_ns.filter(|&it| it > 0)?, self.cpu_ns?);
        let [pause, cpu] = [pause, cpu].map(|nanos| human::duration(Duration::from_nanos(nanos)));
        let [private, copied] =
            [self.private_bytes?, self.copied_bytes?].map(|it| human::bytes(it as f64));
        Some(format!(
            "the program stood still for {pause}; {cpu} of processor time and {private} of a child, {copied} copied"
        ))
    }
}
