//! What a trace is of: the head of every report.

use std::path::Path;
use std::time::Duration;

use lifetrace_analysis::Sampling;
use lifetrace_human as human;
use lifetrace_human::calendar;
use lifetrace_import::Lack;
use lifetrace_study::Reading;
use lifetrace_study::glance::Glance;
use lifetrace_study::open::{Format, Oddities};
use lifetrace_study::origin::{self, Origin};
use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::ids::Timestamp;
use lifetrace_trace::lt::{Index, Summary};
use serde::Serialize;

use super::amounts::{interval, objects_beside};
use super::page::Page;
use super::trace_facts::{Coverage, Mappings, TraceFacts, short_rate};
use crate::fields::number;
use crate::style::Width;

/// What is known of a trace, however it was read.
pub struct Known<'a> {
    /// As messages call the trace.
    pub path: &'a Path,
    /// Its length, if it is a file.
    pub file_bytes: Option<u64>,
    /// Its format.
    pub format: Format,
    /// What it says about itself.
    pub info: &'a TraceInfo,
    /// How it was sampled.
    pub sampling: Sampling,
    /// From its start to its end.
    pub duration: Duration,
    /// How many events it has.
    pub counts: Counts,
    /// What its writer should not have made.
    pub oddities: Oddities,
    /// Whether it was finished by who wrote it, where the format tells.
    pub is_complete: Option<bool>,
    /// What is in it, if it has an index.
    pub index: Option<&'a Index>,
    /// What it tells beside events, in formats that can.
    pub facts: Option<TraceFacts<'a>>,
}

/// How many events there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub samples: u64,
    /// Words or bytes hit in these.
    pub hits: u64,
    pub promotions: u64,
    pub collections: u64,
    /// About blocks that did not live; known only if all events were read.
    pub unmatched: Option<u64>,
}

/// The program, the run, and how it was sampled. Its fields are those of `--json`.
#[derive(Serialize)]
pub struct Subject<'a> {
    file: String,
    file_bytes: Option<u64>,
    format: &'static str,
    format_version: u64,
    format_minor_version: Option<u64>,
    complete: Option<bool>,
    command: Option<String>,
    program: &'a str,
    title: Option<&'a str>,
    executable: &'a str,
    pid: u64,
    host: &'a str,
    runtime_parameters: &'a str,
    start_time: String,
    start_time_us: u64,
    end_time: String,
    /// Nothing if the clock counts something else.
    duration_us: Option<u64>,
    word_bytes: u8,
    sample_rate: f64,
    #[serde(serialize_with = "number")]
    sample_interval_bytes: f64,
    exact: bool,
    hears_all: bool,
    samples: u64,
    sampled_words: u64,
    promotions: u64,
    collections: u64,
    unmatched_events: Option<u64>,
    foreign_packets: u64,
    clock_steps: u64,
    contents: Option<Contents>,
    facts: Option<TraceFacts<'a>>,
    /// Of a trace that another profiler recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    import: Option<origin::Fields>,
    /// In words.
    #[serde(skip)]
    interval: String,
    #[serde(skip)]
    objects: String,
    #[serde(skip)]
    origin: Origin,
    #[serde(skip)]
    duration: Duration,
    #[serde(skip)]
    format_name: &'static str,
    #[serde(skip)]
    start_readable: String,
    #[serde(skip)]
    end_readable: String,
}

/// What is in a trace beside its events, as its index has it.
#[derive(Serialize)]
struct Contents {
    facts: u64,
    frames: u64,
    checkpoints: usize,
    packets: u64,
}

impl<'a> Known<'a> {
    /// Of a trace that was read.
    pub fn of(reading: &'a Reading) -> Self {
        let summary = reading.profile.summary();
        let (trace, facts) = (&reading.trace, &reading.facts);
        Self {
            path: &trace.path,
            file_bytes: trace.file_bytes,
            format: trace.format(),
            info: trace.info(),
            sampling: summary.sampling,
            duration: summary.duration,
            counts: Counts {
                samples: summary.samples,
                hits: summary.hits,
                promotions: summary.promotions,
                collections: summary.collections,
                unmatched: Some(summary.unmatched),
            },
            oddities: trace.oddities(),
            is_complete: trace.is_complete(),
            index: trace.index(),
            facts: trace.has_facts().then(|| TraceFacts::new(facts, Coverage::All)),
        }
    }

    /// Of one whose index was looked at.
    pub fn at_a_glance(glance: &'a Glance) -> Self {
        let Summary { allocations, samples, promotions, collections, duration, .. } =
            glance.index.summary;
        Self {
            path: &glance.path,
            file_bytes: Some(glance.file_bytes),
            format: glance.format,
            info: &glance.info,
            sampling: glance.sampling.clone(),
            duration: Duration::from_micros(duration),
            counts: Counts {
                samples: allocations,
                hits: samples,
                promotions,
                collections,
                unmatched: None,
            },
            oddities: Oddities::default(),
            is_complete: Some(true),
            index: Some(&glance.index),
            facts: Some(TraceFacts::new(&glance.facts, Coverage::Index)),
        }
    }
}

impl<'a> Subject<'a> {
    /// From what is known of a trace.
    pub fn new(known: Known<'a>) -> Self {
        let Known { info, format, counts, facts, .. } = known;
        let Oddities { foreign_packets, clock_steps } = known.oddities;
        let duration_us = known.duration.as_micros() as u64;
        let end = Timestamp(info.start_time.0.saturating_add(duration_us));
        let origin = facts.as_ref().map(|facts| facts.origin().clone()).unwrap_or_default();
        let context = info.context.clone().filter(|context| !context.is_empty());
        Self {
            file: known.path.display().to_string(),
            file_bytes: known.file_bytes,
            format: format.id,
            format_version: format.version,
            format_minor_version: format.minor,
            complete: known.is_complete,
            command: context.or_else(|| facts.as_ref()?.command()),
            program: facts
                .as_ref()
                .and_then(TraceFacts::name)
                .unwrap_or_else(|| base_name(&info.executable_name)),
            title: facts.as_ref().and_then(TraceFacts::title),
            executable: &info.executable_name,
            pid: info.pid,
            host: &info.host_name,
            runtime_parameters: &info.runtime_params,
            start_time: calendar::rfc3339(info.start_time),
            start_time_us: info.start_time.0,
            end_time: calendar::rfc3339(end),
            duration_us: origin.clock().is_none().then_some(duration_us),
            word_bytes: info.word_bits / 8,
            sample_rate: info.sample_rate,
            sample_interval_bytes: known.sampling.interval_bytes(),
            interval: interval(&known.sampling),
            objects: objects_beside(&known.sampling),
            exact: known.sampling.is_exact() && origin.caveat().is_none(),
            hears_all: known.sampling.hears_all(),
            samples: counts.samples,
            sampled_words: counts.hits,
            promotions: counts.promotions,
            collections: counts.collections,
            unmatched_events: counts.unmatched,
            foreign_packets,
            clock_steps,
            contents: known.index.map(Contents::new),
            facts,
            import: origin.fields(),
            origin,
            duration: known.duration,
            format_name: format.name,
            start_readable: calendar::readable(info.start_time),
            end_readable: calendar::readable(end),
        }
    }

    /// What was run, as far as the trace tells.
    pub fn command(&self) -> &str {
        self.command.as_deref().unwrap_or(self.executable)
    }

    /// What the program was run as.
    pub fn program(&self) -> &str {
        self.program
    }

    /// What the process has called itself last.
    pub fn title(&self) -> Option<&str> {
        self.title
    }

    /// The few lines that a report begins with, after the command.
    pub fn brief(&self) -> Vec<String> {
        let title =
            self.title.map(|title| format!("which calls itself {}", human::printable(title)));
        let lines = [title.unwrap_or_default(), self.run(), self.sampling(), self.samples()];
        lines.into_iter().filter(|line| !line.is_empty()).collect()
    }

    /// Everything, a fact a line.
    pub fn facts(&self, width: Width) -> String {
        let mut page = Page::new(width);
        for (name, fact) in self.all() {
            page.fact(name, &fact);
        }
        page.text
    }

    fn all(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("file", self.file()), ("format", self.format())];
        facts.extend(self.command.clone().map(|command| ("command", command)));
        let is_link = self.program != base_name(self.executable);
        facts.extend(is_link.then(|| ("program", self.program.to_owned())));
        facts.extend(self.title.map(|title| ("title", title.to_owned())));
        facts.extend([("executable", self.executable.to_owned()), ("process", self.process())]);
        facts.extend(self.facts.iter().flat_map(TraceFacts::of_the_process));
        facts.extend([
            ("start", self.start_readable.clone()),
            ("end", self.end_readable.clone()),
            ("duration", self.duration()),
            ("sampling", self.sampling()),
        ]);
        facts.extend(self.facts.iter().flat_map(TraceFacts::samplers));
        facts.push(("samples", self.samples()));
        facts.extend(self.contents.as_ref().map(|contents| ("contents", contents.text())));
        facts.extend(self.runtime().map(|runtime| ("runtime", runtime)));
        facts.extend(self.facts.iter().flat_map(TraceFacts::of_the_trace));
        facts.extend(self.oddities().map(|oddity| ("note", oddity)));
        facts
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
                self.unmatched_events.unwrap_or(0),
                "events about blocks whose allocation is not in the trace are left out",
            ),
        ]
        .into_iter()
        .flatten()
        .chain(self.facts.iter().flat_map(TraceFacts::shortcomings))
    }

    /// Process, host and time. An imported trace may not tell them.
    fn run(&self) -> String {
        let (pid, host, start) = (self.pid, human::printable(self.host), &self.start_readable);
        let process = match (pid, host.is_empty()) {
            (0, true) => String::new(),
            (_, true) => format!("pid {pid}, "),
            (_, false) => format!("pid {pid} on {host}, "),
        };
        let start = match self.start_time_us {
            0 => String::new(),
            _ => format!("from {start}, "),
        };
        match self.origin.lacks(Lack::Times) {
            true => format!("{process}{start}").trim_end_matches(", ").to_owned(),
            false => format!("{process}{start}for {}", self.duration()),
        }
    }

    fn file(&self) -> String {
        let bytes = self.file_bytes.map(|bytes| human::exact_bytes(bytes as f64));
        [Some(self.file.clone()), bytes].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn format(&self) -> String {
        let minor = self.format_minor_version.map(|minor| format!(".{minor}")).unwrap_or_default();
        let unfinished = if self.complete == Some(false) { ", not finished" } else { "" };
        format!("{} version {}{minor}{unfinished}", self.format_name, self.format_version)
    }

    fn process(&self) -> String {
        let parent = self.facts.as_ref().and_then(TraceFacts::parent_pid);
        let parent = parent.map(|pid| format!(", child of {pid}")).unwrap_or_default();
        format!("{} on {}{parent}", self.pid, self.host)
    }

    /// Name, version and parameters, as far as they are known.
    fn runtime(&self) -> Option<String> {
        let name = self.facts.as_ref().and_then(TraceFacts::runtime);
        let parameters = Some(self.runtime_parameters.to_owned()).filter(|text| !text.is_empty());
        let parts: Vec<_> = [name, parameters].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    fn duration(&self) -> String {
        let clock = self.origin.clock().map(|clock| format!(" ({clock})")).unwrap_or_default();
        format!("{}{clock}", human::duration(self.duration))
    }

    fn sampling(&self) -> String {
        if self.origin.lacks(Lack::Sampling) {
            return "how it was sampled is not told: amounts are those of the file".to_owned();
        }
        if self.origin.caveat().is_some() {
            return "sums, not single allocations: amounts are those of the file".to_owned();
        }
        if self.exact && self.origin.lacks(Lack::Sizes) {
            return "sums of all allocations: they are exact".to_owned();
        }
        if self.exact {
            return match self.mappings() {
                Mappings::Alone => "every mapping recorded: all numbers are exact".to_owned(),
                _ => "every allocation recorded: all numbers are exact".to_owned(),
            };
        }
        let mappings = if self.mappings() == Mappings::Untold { "" } else { ", and all mappings" };
        let unit = if self.sample_interval_bytes > 0.0 { "word" } else { "object" };
        format!(
            "one sample every {} on average (rate {} per {unit}){}{mappings}",
            self.interval,
            short_rate(self.sample_rate),
            self.objects
        )
    }

    fn mappings(&self) -> Mappings {
        self.facts.as_ref().map_or(Mappings::Untold, TraceFacts::mappings)
    }

    fn samples(&self) -> String {
        let count = |number: u64| human::count(number as f64);
        if self.origin.lacks(Lack::Times) || self.origin.lacks(Lack::Sizes) {
            return format!("{} blocks were made from what it tells", count(self.samples));
        }
        let promoted = match self.promotions {
            0 => String::new(),
            promotions => format!(", {} promoted", count(promotions)),
        };
        format!(
            "{} sampled{promoted}, {} freed",
            human::counted(self.samples, "allocation", "allocations"),
            count(self.collections)
        )
    }
}

impl Contents {
    fn new(index: &Index) -> Self {
        let Summary { facts, frames, packets, .. } = index.summary;
        Self { facts, frames, checkpoints: index.checkpoints.len(), packets }
    }

    fn text(&self) -> String {
        let count = |count: u64| human::count(count as f64);
        format!(
            "{} facts, {} frames, {} checkpoints, {} packets",
            count(self.facts),
            count(self.frames),
            count(self.checkpoints as u64),
            count(self.packets)
        )
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
