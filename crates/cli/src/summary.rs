//! Reads a whole trace into what reports are made of.

use std::path::Path;

use anyhow::Context;
use lifetrace_analysis::{Profile, Summary};

use crate::damage::Damage;
use crate::open::{Backtraces, Trace};

/// A trace that has been read to its end, or as far as possible.
pub struct Reading {
    /// Still knows the names of frames.
    pub trace: Trace,
    pub profile: Profile,
    /// Why it was not read to its end.
    pub damage: Option<Damage>,
}

/// Reads a trace.
///
/// # Errors
/// If it cannot be opened, or its samples mean nothing. Damage further on is no error.
pub fn read(path: &Path, backtraces: Backtraces) -> anyhow::Result<Reading> {
    let mut trace = Trace::open(path, backtraces)?;
    let profile = Profile::new(trace.info());
    let mut profile = profile.with_context(|| format!("{}: cannot be analysed", path.display()))?;
    let damage = loop {
        match trace.next() {
            Ok(Some((time, event))) => profile.record(time, &event),
            Ok(None) => break None,
            Err(damage) => break Some(damage),
        }
    };
    profile.finish(trace.end_time());
    Ok(Reading { trace, profile, damage })
}

/// The totals of a trace; those of the events before the damage if it is damaged.
///
/// # Errors
/// If it cannot be opened, or its samples mean nothing.
pub fn summarize(path: &Path) -> anyhow::Result<Summary> {
    Ok(read(path, Backtraces::Skip)?.profile.summary())
}
