//! pprof's profiles: gzipped protocol buffers, a backtrace with its numbers a sample.
//!
//! The same trace gives the same bytes: no time of writing, and tables in the order of the trace.
//! Frames are kept as they were: a frame with what was inlined into it is one location of several
//! lines. Readers find everything in the file and need no object files.

mod proto;
mod tables;
mod values;

use std::io::Write;

use flate2::{Compression, GzBuilder};
use prost::Message;

use super::Options;
use super::notes::notes;
use crate::study::Study;
use crate::summary::Reading;
use proto::{Profile, Sample, ValueType};
use tables::{Frames, Strings, mappings};

pub use values::Types;

pub fn write(study: &Study, options: &Options, output: &mut dyn Write) -> anyhow::Result<()> {
    let profile = profile(&study.reading, options)?;
    let mut output = GzBuilder::new().mtime(0).write(output, Compression::default());
    output.write_all(&profile.encode_to_vec())?;
    output.finish()?.flush()?;
    Ok(())
}

fn profile(reading: &Reading, options: &Options) -> anyhow::Result<Profile> {
    let types = options.pprof_types;
    let summary = reading.profile.summary();
    let mut strings = Strings::default();
    let mut value_type =
        |kind, unit| ValueType { kind: strings.index(kind), unit: strings.index(unit) };
    let sample_type =
        types.columns().iter().map(|&(name, unit, _)| value_type(name, unit)).collect();
    let period_type = Some(value_type("space", "bytes"));
    let default_sample_type = strings.index(types.default_name(options.metric));
    let comment = notes(reading).iter().map(|note| strings.index(note)).collect();
    let executable = &reading.trace.info().executable_name;
    let mapping = mappings(&reading.facts.modules, executable, &mut strings);
    let mut frames = Frames::new(&reading.trace, &reading.facts.modules);
    let sample = samples(reading, options, &mut frames, &mut strings)?;
    let Frames { locations, functions, .. } = frames;
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

/// Those that have anything of what is written.
fn samples(
    reading: &Reading,
    options: &Options,
    frames: &mut Frames<'_>,
    strings: &mut Strings,
) -> anyhow::Result<Vec<Sample>> {
    let (nodes, balances): (Vec<_>, Vec<_>) = reading.profile.balances().unzip();
    let rows = options.pprof_types.rows(&balances)?;
    let used = nodes.into_iter().zip(rows).filter(|(_, row)| row.iter().any(|&value| value != 0));
    let sample = |(node, value)| {
        let codes = reading.profile.tree().frames(node);
        Sample { location_id: codes.map(|code| frames.id(code, strings)).collect(), value }
    };
    Ok(used.map(sample).collect())
}
