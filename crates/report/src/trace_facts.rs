//! The facts of a trace, for people and for programs.

use std::collections::BTreeMap;

use lifetrace_human as human;
use lifetrace_human::calendar;
use lifetrace_study::facts::Facts;
use lifetrace_study::notices;
use lifetrace_study::origin::Origin;
use lifetrace_study::sieve::LABEL;
use lifetrace_trace::fact::{Collector, Exit, Parent, Process, SampledUnit, Sampler};
use serde::Serialize;

/// How many of a trace's facts have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    All,
    /// Those that the index tells again.
    Index,
}

/// The facts of a trace, as reports have them. Its fields are those of `--json`.
#[derive(Serialize)]
pub struct TraceFacts<'a> {
    complete: bool,
    arguments: Vec<&'a str>,
    parent_pid: Option<u64>,
    container: Option<&'a str>,
    runtime: Option<&'a str>,
    runtime_version: Option<&'a str>,
    agent_version: Option<&'a str>,
    process_start_time: Option<String>,
    process_start_time_us: Option<u64>,
    parent_trace: Option<ParentTrace<'a>>,
    exit: Option<ExitFields>,
    labels: BTreeMap<&'a str, &'a str>,
    samplers: Vec<SamplerFields<'a>>,
    lost: BTreeMap<&'a str, u64>,
    peak_resident_bytes: Option<u64>,
    markers: Option<u64>,
    modules: Option<u64>,
    thread_names: Option<u64>,
    gc_cycle_steps: Option<u64>,
    heap: Option<HeapFields>,
    runtime_counts: BTreeMap<&'a str, CountFields>,
    notices: Vec<&'a str>,
    truncated_backtraces: u64,
    #[serde(skip)]
    name: Option<&'a str>,
    #[serde(skip)]
    title: Option<&'a str>,
    #[serde(skip)]
    coverage: Coverage,
    #[serde(skip)]
    origin: Origin,
}

/// The last figures of a managed heap.
#[derive(Serialize)]
struct HeapFields {
    minor_words: Option<u64>,
    promoted_words: Option<u64>,
    major_words: Option<u64>,
    minor_collections: Option<u64>,
    major_collections: Option<u64>,
    compactions: Option<u64>,
    heap_words: Option<u64>,
    top_heap_words: Option<u64>,
    young_heap_words: Option<u64>,
    /// What came after the last minor collection is not counted.
    is_behind: bool,
    /// What the runtime's sampler has allocated for the recording is counted.
    has_samplers_share: bool,
}

/// A count of a managed runtime's.
#[derive(Serialize)]
struct CountFields {
    /// Not known where only the index has been read.
    first: Option<u64>,
    last: u64,
}

impl HeapFields {
    fn new(collector: Collector) -> Self {
        let Collector { minor_words, promoted_words, major_words, .. } = collector;
        Self {
            minor_words,
            promoted_words,
            major_words,
            minor_collections: collector.minor_collections,
            major_collections: collector.major_collections,
            compactions: collector.compactions,
            heap_words: collector.heap_words,
            top_heap_words: collector.top_heap_words,
            young_heap_words: collector.young_heap_words,
            is_behind: collector.is_behind,
            has_samplers_share: collector.has_samplers_share,
        }
    }
}

#[derive(Serialize)]
struct ParentTrace<'a> {
    pid: u64,
    file: Option<&'a str>,
}

#[derive(Serialize)]
struct ExitFields {
    how: &'static str,
    code: Option<i32>,
}

#[derive(Serialize)]
struct SamplerFields<'a> {
    id: u8,
    name: &'a str,
    unit: &'static str,
    rate: f64,
}

/// Whether a trace tells of mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mappings {
    Untold,
    /// Beside sampled blocks.
    Beside,
    Alone,
}

impl<'a> TraceFacts<'a> {
    /// What was not read is not known; it is left out.
    pub fn new(facts: &'a Facts, coverage: Coverage) -> Self {
        let process = facts.process.as_ref();
        let text = |part: fn(&Process) -> &str| process.map(part).filter(|text| !text.is_empty());
        let start = process.and_then(|process| process.start);
        let if_all = |count: u64| (coverage == Coverage::All).then_some(count);
        let lost = facts.lost.iter().map(|(reason, count)| (&**reason, *count)).collect();
        let arguments = process.map(|process| &process.arguments[..]).unwrap_or_default();
        Self {
            complete: coverage == Coverage::All,
            arguments: arguments.iter().map(|argument| &**argument).collect(),
            name: text(|process| &process.name),
            title: text(|process| &process.title),
            parent_pid: process.map(|process| process.parent_pid).filter(|pid| *pid > 0),
            container: text(|process| &process.container),
            runtime: text(|process| &process.runtime),
            runtime_version: text(|process| &process.runtime_version),
            agent_version: text(|process| &process.agent_version),
            process_start_time: start.map(calendar::rfc3339),
            process_start_time_us: start.map(|start| start.0),
            parent_trace: facts.parent.as_ref().map(ParentTrace::new),
            exit: facts.exit.map(ExitFields::new),
            labels: facts.labels.iter().map(|(key, value)| (&**key, &**value)).collect(),
            samplers: facts.samplers.values().map(SamplerFields::new).collect(),
            lost,
            peak_resident_bytes: facts.peak_resident.map(|peak| peak.0),
            markers: if_all(facts.markers),
            modules: if_all(facts.modules.len() as u64),
            thread_names: if_all(facts.thread_names),
            gc_cycle_steps: if_all(facts.cycle_steps),
            heap: facts.collector.map(HeapFields::new),
            runtime_counts: facts
                .runtime_counts
                .iter()
                .map(|(name, counted)| {
                    let first = if_all(counted.first);
                    (&**name, CountFields { first, last: counted.last })
                })
                .collect(),
            notices: facts.notices.iter().map(|code| &**code).collect(),
            truncated_backtraces: facts.truncated_backtraces,
            coverage,
            origin: Origin::of(facts),
        }
    }

    /// Where the trace comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The arguments as one line.
    pub fn command(&self) -> Option<String> {
        (!self.arguments.is_empty()).then(|| self.arguments.join(" "))
    }

    /// `ocaml 4.14.1`.
    pub fn runtime(&self) -> Option<String> {
        let version = self.runtime_version.map(|version| format!(" {version}"));
        self.runtime.map(|runtime| runtime.to_owned() + &version.unwrap_or_default())
    }

    /// What the program was run as.
    pub fn name(&self) -> Option<&'a str> {
        self.name
    }

    /// What the process has called itself last.
    pub fn title(&self) -> Option<&'a str> {
        self.title
    }

    /// The process's parent.
    pub fn parent_pid(&self) -> Option<u64> {
        self.parent_pid
    }

    /// About the process, a name and a fact each.
    pub fn of_the_process(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        facts.extend(self.container.map(|container| ("container", container.to_owned())));
        facts.extend(self.agent_version.map(|version| ("agent", version.to_owned())));
        facts.extend(self.parent_trace.as_ref().map(|parent| {
            let file = parent.file.unwrap_or("which has no trace");
            ("forked from", format!("{}, {file}", parent.pid))
        }));
        facts.extend(self.exit.as_ref().map(|exit| ("exit", exit.text())));
        facts
    }

    /// About the recording, a name and a fact each.
    pub fn of_the_trace(&self) -> Vec<(&'static str, String)> {
        let label = |(key, value): (&&str, &&str)| ("label", format!("{key}={value}"));
        let mut facts: Vec<_> = self.labels.iter().map(label).collect();
        let peak = self.peak_resident_bytes.map(|peak| human::bytes(peak as f64));
        facts.extend(peak.map(|peak| ("memory", format!("up to {peak} resident"))));
        let counted = [
            ("markers", self.markers),
            ("modules", self.modules),
            ("threads", self.thread_names),
            ("GC", self.gc_cycle_steps),
        ];
        facts.extend(counted.into_iter().filter_map(|(name, count)| {
            let count = count.filter(|count| *count > 0)?;
            let what = match name {
                "threads" => " names",
                "GC" => " begins and ends of cycles",
                _ => "",
            };
            Some((name, human::count(count as f64) + what))
        }));
        if self.coverage == Coverage::Index {
            facts.push(("facts", "those of the trace's index; --all reads the rest".to_owned()));
        }
        facts
    }

    /// Whether mappings are told, beside blocks or alone.
    pub fn mappings(&self) -> Mappings {
        let is_mapping = |it: &SamplerFields<'_>| ["mmap", "arena"].contains(&it.name);
        let mappings = self.samplers.iter().filter(|it| is_mapping(it)).count();
        match mappings {
            0 => Mappings::Untold,
            _ if mappings == self.samplers.len() => Mappings::Alone,
            _ => Mappings::Beside,
        }
    }

    /// How each source is sampled.
    pub fn samplers(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.samplers.iter().map(|SamplerFields { id, name, unit, rate }| {
            ("sampler", format!("{id}, {name}: rate {} per {unit}", short_rate(*rate)))
        })
    }

    /// What makes the numbers less than the truth.
    pub fn shortcomings(&self) -> impl Iterator<Item = String> {
        let lost = self.lost.iter().filter(|(_, count)| **count > 0);
        let lost = lost.map(|(reason, count)| notices::lost(reason, *count));
        let explained: u64 = self.notices.iter().map(|code| notices::cut_backtraces(code)).sum();
        let unexplained = self.truncated_backtraces.saturating_sub(explained);
        let truncated = (unexplained > 0).then(|| {
            let count = human::count(unexplained as f64);
            format!("{count} backtraces lack their outermost frames")
        });
        let filter = self.labels.get(LABEL).map(|filter| {
            format!(
                "the trace has some blocks only, which a filter chose: {}",
                human::printable(filter)
            )
        });
        let notices = self.notices.iter().map(|code| notices::sentence(code));
        self.origin.note().into_iter().chain(filter).chain(lost).chain(truncated).chain(notices)
    }
}

impl<'a> ParentTrace<'a> {
    fn new(parent: &'a Parent) -> Self {
        Self { pid: parent.pid, file: Some(&*parent.trace).filter(|file| !file.is_empty()) }
    }
}

impl ExitFields {
    fn new(exit: Exit) -> Self {
        let (how, code) = match exit {
            Exit::Status(status) => ("status", Some(status)),
            Exit::Signal(signal) => ("signal", Some(signal)),
            Exit::Exec => ("exec", None),
            Exit::Unknown => ("unknown", None),
        };
        Self { how, code }
    }

    fn text(&self) -> String {
        match (self.how, self.code) {
            ("signal", Some(signal)) => format!("killed by signal {signal}"),
            ("exec", _) => "became another program".to_owned(),
            (how, Some(code)) => format!("{how} {code}"),
            _ => "nobody saw how".to_owned(),
        }
    }
}

impl<'a> SamplerFields<'a> {
    fn new(sampler: &'a Sampler) -> Self {
        let unit = unit_name(sampler.unit);
        Self { id: sampler.id.0, name: &sampler.name, unit, rate: sampler.rate }
    }
}

/// As `--json` and `dump` call it.
pub fn unit_name(unit: SampledUnit) -> &'static str {
    match unit {
        SampledUnit::Byte => "byte",
        SampledUnit::Word => "word",
        SampledUnit::Object => "object",
    }
}

/// Four significant digits, and no more zeros than needed.
pub fn short_rate(rate: f64) -> String {
    let text = format!("{rate:.3e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    if exponent == "0" { digits.to_owned() } else { format!("{digits}e{exponent}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_short() {
        assert_eq!(short_rate(1e-4), "1e-4");
        assert_eq!(short_rate(1.0 / 65_536.0), "1.526e-5");
        assert_eq!(short_rate(0.5), "5e-1");
        assert_eq!(short_rate(1.0), "1");
    }
}
