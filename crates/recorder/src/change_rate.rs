//! Another rate for a process that is being recorded.

use rustix::process::Pid;

use crate::rate::Rate;
use crate::snapshots::Desk;

/// Why a process is sampled as densely as before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RateError {
    /// No process of that number is being recorded.
    #[error("process {0} is not being recorded, or its recording is over")]
    NotRecorded(u32),
    /// Its malloc is not sampled.
    #[error(
        "of process {pid} the heap of {runtime} is sampled, at the rate that it began with: malloc's alone can be changed"
    )]
    OnlyMalloc {
        /// Its number.
        pid: u32,
        /// Whose heap it is.
        runtime: String,
    },
    /// Nothing of it is sampled, or its mappings alone.
    #[error("of process {0} nothing is sampled that has a rate")]
    NoRate(u32),
}

/// What of a process is sampled otherwise from now on.
#[derive(Clone, Debug, PartialEq)]
pub struct RateChange {
    /// Malloc's rate before.
    pub before: Rate,
    /// A managed runtime whose heap is sampled beside it, at the same rate as before.
    pub beside: Option<String>,
}

/// Has malloc's blocks of a process sampled at another rate from now on. Each of its threads goes on at the rate of before
/// until its next sample; of each sample the trace says by which rate it counts.
///
/// # Errors
/// [`RateError`]; then nothing has changed.
pub(crate) fn change_rate(desk: &Desk, pid: u32, rate: Rate) -> Result<RateChange, RateError> {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let segment = raw.and_then(|raw| desk.segment(raw)).ok_or(RateError::NotRecorded(pid))?;
    let header = segment.header();
    let sources = &header.settings().sources;
    let runtime = sources.managed().map(|source| source.name.to_string());
    let first = sources.malloc().map(|malloc| malloc.rate);
    let Some(before) = header.rate().or(first).and_then(Rate::from_probability_per_word) else {
        return Err(match runtime {
            Some(runtime) => RateError::OnlyMalloc { pid, runtime },
            None => RateError::NoRate(pid),
        });
    };
    header.set_rate(rate.per_word());
    Ok(RateChange { before, beside: runtime })
}
