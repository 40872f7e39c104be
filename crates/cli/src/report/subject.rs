//! What a trace is of: the head of every report.

use std::time::Duration;

use lifetrace_analysis::Summary;
use serde::Serialize;

use super::json::number;
use crate::open::{Oddities, Trace};
use crate::summary::Reading;
use crate::terminal::{FAINT, styled};
use crate::{calendar, human};

/// The program, the run, and how it was sampled. Its fields are those of `--json`.
#[derive(Serialize)]
pub struct Subject<'a> {
    file: String,
    file_bytes: u64,
    format: &'static str,
    format_version: u16,
    command: Option<&'a str>,
    executable: &'a str,
    pid: u64,
    host: &'a str,
    runtime_parameters: &'a str,
    start_time: String,
    start_time_us: u64,
    duration_us: u64,
    word_bytes: u8,
    sample_rate: f64,
    #[serde(serialize_with = "number")]
    sample_interval_bytes: f64,
    exact: bool,
    samples: u64,
    sampled_words: u64,
    promotions: u64,
    collections: u64,
    unmatched_events: u64,
    foreign_packets: u64,
    clock_steps: u64,
    #[serde(skip)]
    format_name: &'static str,
    #[serde(skip)]
    start_readable: String,
}

impl<'a> Subject<'a> {
    pub fn new(reading: &'a Reading, summary: &Summary) -> Self {
        let trace: &Trace = &reading.trace;
        let (info, format) = (trace.info(), trace.format());
        let Oddities { foreign_packets, clock_steps } = trace.oddities();
        Self {
            file: trace.path.display().to_string(),
            file_bytes: trace.file_bytes,
            format: format.id,
            format_version: format.version,
            command: info.context.as_deref().filter(|context| !context.is_empty()),
            executable: &info.executable_name,
            pid: info.pid,
            host: &info.host_name,
            runtime_parameters: &info.runtime_params,
            start_time: calendar::rfc3339(info.start_time),
            start_time_us: info.start_time.0,
            duration_us: summary.duration.as_micros() as u64,
            word_bytes: info.word_bits / 8,
            sample_rate: info.sample_rate,
            sample_interval_bytes: summary.sampling.interval_bytes(),
            exact: summary.sampling.is_exact(),
            samples: summary.samples,
            sampled_words: summary.hits,
            promotions: summary.promotions,
            collections: summary.collections,
            unmatched_events: summary.unmatched,
            foreign_packets,
            clock_steps,
            format_name: format.name,
            start_readable: calendar::readable(info.start_time),
        }
    }

    /// What was run, as far as the trace tells.
    pub fn command(&self) -> &str {
        self.command.unwrap_or(self.executable)
    }

    /// The few lines that a report begins with, after the command.
    pub fn brief(&self) -> [String; 3] {
        let (pid, host, start) = (self.pid, human::printable(self.host), &self.start_readable);
        let run = format!("pid {pid} on {host}, from {start}, for {}", self.duration());
        [run, self.sampling(), self.samples()]
    }

    /// Everything, a fact a line.
    pub fn facts(&self) -> Vec<String> {
        let mut facts = vec![
            ("file", format!("{}, {}", self.file, human::exact_bytes(self.file_bytes as f64))),
            ("format", format!("{} version {}", self.format_name, self.format_version)),
        ];
        facts.extend(self.command.map(|command| ("command", command.to_owned())));
        facts.extend([
            ("executable", self.executable.to_owned()),
            ("process", format!("{} on {}", self.pid, self.host)),
            ("start", self.start_readable.clone()),
            ("duration", self.duration()),
            ("sampling", self.sampling()),
            ("samples", self.samples()),
        ]);
        if !self.runtime_parameters.is_empty() {
            facts.push(("runtime", self.runtime_parameters.to_owned()));
        }
        facts.extend(self.oddities().map(|oddity| ("note", oddity)));
        let line = |(name, fact): (&str, String)| {
            format!("{} {}", styled(FAINT, format_args!("{name:<11}")), human::printable(&fact))
        };
        facts.into_iter().map(line).collect()
    }

    /// What a reader should know before trusting the numbers.
    pub fn oddities(&self) -> impl Iterator<Item = String> {
        let note = |count: u64, text: &str| {
            (count > 0).then(|| format!("{} {text}", human::count(count as f64)))
        };
        [
            note(
                self.foreign_packets,
                "packets of another process in this file (a forked child?) are left out",
            ),
            note(
                self.clock_steps,
                "times the clock was set back; times before and after do not compare",
            ),
            note(
                self.unmatched_events,
                "events about blocks that were never allocated are left out",
            ),
        ]
        .into_iter()
        .flatten()
    }

    fn duration(&self) -> String {
        human::duration(Duration::from_micros(self.duration_us))
    }

    fn sampling(&self) -> String {
        if self.exact {
            return "every allocation recorded: all numbers are exact".to_owned();
        }
        let interval = human::bytes(self.sample_interval_bytes);
        format!(
            "one sample every {interval} on average (rate {} per word)",
            short_rate(self.sample_rate)
        )
    }

    fn samples(&self) -> String {
        let count = |number: u64| human::count(number as f64);
        let promoted = match self.promotions {
            0 => String::new(),
            promotions => format!(", {} promoted", count(promotions)),
        };
        format!(
            "{} allocations sampled{promoted}, {} freed",
            count(self.samples),
            count(self.collections)
        )
    }
}

/// Four significant digits, and no more zeros than needed.
fn short_rate(rate: f64) -> String {
    let text = format!("{rate:.3e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_short() {
        assert_eq!(short_rate(1e-4), "1e-4");
        assert_eq!(short_rate(1.0 / 65_536.0), "1.526e-5");
        assert_eq!(short_rate(0.5), "5e-1");
    }
}
