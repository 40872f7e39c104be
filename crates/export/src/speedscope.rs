//! Speedscope's own format: JSON, a profile for each metric that the trace has anything of.
//!
//! Its `evented` profiles are meant for time. Here bytes pass instead: stacks come one after the other,
//! sorted, and each lasts as long as it has bytes. So a frame that many stacks have in common is written
//! once for all of them, where a `sampled` profile would have it in each.

use lifetrace_human::json_text;
use lifetrace_pprof::whole::apportion;
use lifetrace_study::Study;
use std::io::{self, BufWriter, Write};

use lifetrace_human::named::Named;
use serde::Serialize;

use super::metric::Unit;
use super::notes::{program, trust};
use super::stacks::{Line, LineId, Sameness, Stacks};
use super::{Metric, Options};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: String,
    exporter: String,
    active_profile_index: usize,
    shared: Shared<'a>,
    profiles: Vec<Profile>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<SpeedscopeFrame<'a>>,
}

#[derive(Serialize)]
struct SpeedscopeFrame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    events: Vec<Event>,
}

/// A frame begins or ends after so many bytes.
#[derive(Serialize)]
struct Event {
    #[serde(rename = "type")]
    kind: &'static str,
    frame: usize,
    at: u64,
}

pub fn write(study: &Study, options: &Options, output: &mut dyn Write) -> anyhow::Result<()> {
    let reading = &study.reading;
    let stacks = Stacks::new(&reading.profile, &reading.trace, &study.choice.view, Sameness::Line);
    let (mut profiles, mut active_profile_index) = (Vec::new(), 0);
    let origin = reading.origin();
    let is_told = |metric: Metric| !metric.needs().iter().any(|lack| origin.lacks(*lack));
    for &metric in Metric::ALL.iter().filter(|metric| is_told(**metric)) {
        let profile = profile(&stacks, metric)?;
        if metric == options.metric {
            active_profile_index = profiles.len();
        }
        // Of a trace without samples there is one that says so.
        if metric == options.metric || !profile.events.is_empty() {
            profiles.push(profile);
        }
    }
    let trusted = format!("{}: {}", program(reading), trust(reading));
    let file = File {
        schema: SCHEMA,
        name: [Some(trusted), origin.note()].into_iter().flatten().collect::<Vec<_>>().join("; "),
        exporter: format!("lifetrace {}", env!("CARGO_PKG_VERSION")),
        active_profile_index,
        shared: Shared { frames: stacks.lines.iter().map(SpeedscopeFrame::new).collect() },
        profiles,
    };
    let mut output = BufWriter::new(output);
    json_text::compact(&mut output, &file).map_err(io::Error::from)?;
    Ok(output.flush()?)
}

fn profile(stacks: &Stacks<'_>, metric: Metric) -> anyhow::Result<Profile> {
    let values: Vec<f64> = stacks.stacks.iter().map(|stack| metric.of(&stack.balance)).collect();
    let values = apportion(metric.title(), &values)?;
    let mut passing = Passing::default();
    for (stack, value) in stacks.stacks.iter().zip(values).filter(|&(_, value)| value > 0) {
        passing.stack(stacks.path(stack));
        passing.at += value;
    }
    passing.stack(Vec::new());
    Ok(Profile {
        kind: "evented",
        name: metric.title(),
        unit: if metric.unit() == Unit::Bytes { "bytes" } else { "none" },
        start_value: 0,
        end_value: passing.at,
        events: passing.events,
    })
}

/// Bytes, as they pass.
#[derive(Default)]
struct Passing {
    at: u64,
    open: Vec<LineId>,
    events: Vec<Event>,
}

impl Passing {
    /// Changes to another stack.
    fn stack(&mut self, path: Vec<LineId>) {
        let shared = self.open.iter().zip(&path).take_while(|(a, b)| a == b).count();
        let at = self.at;
        let event = |kind, line: &LineId| Event { kind, frame: line.index(), at };
        self.events.extend(self.open[shared..].iter().rev().map(|line| event("C", line)));
        self.events.extend(path[shared..].iter().map(|line| event("O", line)));
        self.open = path;
    }
}

impl<'a> SpeedscopeFrame<'a> {
    fn new(line: &'a Line<'a>) -> Self {
        Self {
            name: &line.function,
            file: Some(line.file).filter(|file| !file.is_empty()),
            line: Some(line.line).filter(|&line| line > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stacks_have_in_common_stays_open() {
        let mut passing = Passing::default();
        for (path, bytes) in [(&[0, 1][..], 5), (&[0, 1, 2], 7), (&[0, 3], 1), (&[4], 2)] {
            passing.stack(path.iter().copied().map(LineId::of).collect());
            passing.at += bytes;
        }
        passing.stack(Vec::new());
        let events = passing
            .events
            .iter()
            .map(|event| format!("{}{}@{}", event.kind, event.frame, event.at));
        let events = events.collect::<Vec<_>>().join(" ");
        assert_eq!(events, "O0@0 O1@0 O2@5 C2@12 C1@12 O3@12 C3@13 C0@13 O4@13 C4@15");
    }
}
