//! Firefox Profiler's processed format: every sampled allocation and release at its time, so that the
//! profiler shows what was allocated, and what is retained, in any span of time.
//!
//! A sampled block is written with the bytes that it stands for. The profiler counts such blocks as one
//! object each, so its numbers of objects are numbers of samples. All blocks are on one thread, since
//! the profiler looks for a block's release on the thread that allocated it.
//!
//! Browsers do not open gigabytes: of a trace with very many blocks, a share of them is written, each
//! with the bytes of others like it ([`thinning`]).

mod frames;
mod marker;
mod record;
mod thinning;

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use fxprof_processed_profile::{Profile, ReferenceTimestamp, SamplingInterval, Timestamp};
use lifetrace_human::json_text;
use lifetrace_study::Study;

use super::notes::{notes, program, trust};
use marker::note;
use record::Recording;
use thinning::Thinning;

pub fn write(study: &Study, output: &mut dyn Write) -> anyhow::Result<()> {
    let (reading, info) = (&study.reading, study.reading.trace.info());
    let thinning = Thinning::of(study)?;
    let title = [format!("{}: {}", program(reading), trust(reading))];
    let title: Vec<_> =
        title.into_iter().chain(thinning.remark()).chain(reading.origin().note()).collect();
    let title = title.join("; ");
    let start = Duration::from_micros(info.start_time.0);
    let start = ReferenceTimestamp::from_duration_since_unix_epoch(start);
    let mut profile = Profile::new(&title, start, SamplingInterval::from_millis(1));
    profile.set_symbolicated(true);
    let began = Timestamp::from_nanos_since_reference(0);
    // Numbers of processes are smaller on every system; a trace may say anything.
    let pid = u32::try_from(info.pid).unwrap_or_default();
    let process = profile.add_process(&program(reading), pid, began);
    let thread = profile.add_thread(process, pid, began, true);
    profile.set_thread_name(thread, &program(reading));
    for line in notes(study).into_iter().chain(thinning.remark()) {
        note(&mut profile, thread, began, "lifetrace", &line);
    }
    let stacks = frames::stacks(study, &mut profile, thread);
    let mut recording =
        Recording::new(&mut profile, process, thread, &stacks, info.start_time, thinning);
    study.replay(&mut recording)?;
    let end = recording.end();
    profile.set_process_end_time(process, end);
    profile.set_thread_end_time(thread, end);
    let mut output = BufWriter::new(output);
    json_text::compact(&mut output, &profile).map_err(io::Error::from)?;
    Ok(output.flush()?)
}
