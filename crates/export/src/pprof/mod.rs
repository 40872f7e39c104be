//! pprof's profiles: gzipped protocol buffers, in which a sample is a backtrace with its numbers.
//!
//! The same trace gives the same bytes: no time of writing, and tables in the order of the trace.
//! Frames are kept as they were: a frame with what was inlined into it is one location of several
//! lines. Readers find everything in the file and need no object files.

mod backtraces;
mod frames;
mod labels;
mod retained;
mod values;

use std::io::Write;

use lifetrace_analysis::account::Balance;
use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::classes::class;
use lifetrace_pprof::proto::{Label, Profile, Sample};
use lifetrace_pprof::tables::{Code, Strings, mappings};
use lifetrace_study::Reading;
use lifetrace_study::Study;
use lifetrace_trace::event::Source;

use super::Options;
use super::notes::notes;
use backtraces::Backtraces;
use frames::Frames;
use labels::{Kind, Kinds};
use retained::Retained;
use values::{rows, shown_first};

pub use values::Types;

pub fn write(study: &Study, options: &Options, output: &mut dyn Write) -> anyhow::Result<()> {
    Ok(lifetrace_pprof::write(&profile(study, options)?, output)?)
}

fn profile(study: &Study, options: &Options) -> anyhow::Result<Profile> {
    let reading = &study.reading;
    let (mut strings, backtraces) = (Strings::default(), Backtraces::new(study));
    let groups = groups(study, options, &mut strings)?.into_iter();
    let visible = groups.filter(|(group, _)| !backtraces.leaves_out(group.backtrace));
    let (groups, balances): (Vec<_>, Vec<_>) = visible.unzip();
    let mut columns = options.pprof_types.columns(&balances);
    let origin = reading.origin();
    columns.retain(|column| column.is_told(&origin));
    let sample_type =
        columns.iter().map(|column| strings.value_type(column.name, column.unit)).collect();
    let period_type = Some(strings.value_type("space", "bytes"));
    let default_sample_type = strings.index(shown_first(&columns, options.metric));
    let comment = notes(study).iter().map(|note| strings.index(note)).collect();
    let executable = &reading.trace.info().executable_name;
    let mapping = mappings(reading.facts.modules.values(), executable, &mut strings);
    let mut frames = Frames::new(&reading.trace, &reading.facts.modules);
    let mut sample = |(Group { backtrace, label }, value)| {
        let location_id = backtraces.locations(backtrace, &mut frames, &mut strings);
        Sample { location_id, value, label }
    };
    let rows = groups.into_iter().zip(rows(&columns, &balances)?);
    let used = rows.filter(|(_, row)| row.iter().any(|&value| value != 0));
    let sample = used.map(&mut sample).collect();
    let Code { locations, functions, .. } = frames.code;
    let summary = reading.profile.summary();
    Ok(Profile {
        sample_type,
        sample,
        mapping,
        location: locations,
        function: functions,
        time_nanos: i64::try_from(reading.trace.info().start_time.0)?.saturating_mul(1000),
        duration_nanos: i64::try_from(summary.duration.as_nanos())?,
        period_type,
        period: summary.sampling.interval_bytes().round() as i64,
        comment,
        default_sample_type,
        string_table: strings.all,
    })
}

/// What a sample is of.
struct Group {
    backtrace: NodeId,
    label: Vec<Label>,
}

/// The samples, and what each amounts to.
fn groups(
    study: &Study,
    options: &Options,
    strings: &mut Strings,
) -> anyhow::Result<Vec<(Group, Balance)>> {
    if !options.pprof_types.has_labels() {
        let mut retained = Retained::default();
        study.replay(&mut retained)?;
        let group = |(backtrace, balance)| (Group { backtrace, label: Vec::new() }, balance);
        return Ok(retained.balances().map(group).collect());
    }
    let mut kinds = Kinds::default();
    study.replay(&mut kinds)?;
    let group = |(kind, balance): (Kind, Balance)| {
        let label = labels(&kind, &kinds, &study.reading, strings);
        (Group { backtrace: kind.backtrace, label }, balance)
    };
    Ok(kinds.balances().map(group).collect())
}

fn labels(kind: &Kind, kinds: &Kinds, reading: &Reading, strings: &mut Strings) -> Vec<Label> {
    let mut labels = vec![Label {
        key: strings.index("bytes"),
        num: i64::try_from(kind.bytes).unwrap_or(i64::MAX),
        num_unit: strings.index("bytes"),
        ..Label::default()
    }];
    let mut add = |key: &str, text: &str| {
        let (key, text) = (strings.index(key), strings.index(text));
        labels.push(Label { key, text, ..Label::default() });
    };
    match kind.source {
        Source::Minor => add("generation", "minor"),
        Source::Major => add("generation", "major"),
        Source::External => {}
    }
    if let Some(sampler) = reading.facts.samplers.get(&kind.sampler) {
        add("sampler", &sampler.name);
    }
    if let Some(class) = class(reading.profile.tree(), &reading.trace, kind.backtrace) {
        add("class", class);
    }
    if reading.trace.has_facts() {
        match kinds.thread_names.get(&kind.thread) {
            Some(name) => add("thread", &format!("{} {}", name, kind.thread.0)),
            None => add("thread", &kind.thread.0.to_string()),
        }
    }
    labels
}
