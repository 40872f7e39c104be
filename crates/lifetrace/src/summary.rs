//! What has come of a session.

use std::path::PathBuf;

use lifetrace_recorder::{Outcome, SessionReport};

use crate::error::Error;
use crate::listening::Shortfall;

/// What a session has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The trace; none of a session [elsewhere](crate::Session::is_elsewhere) or
    /// [without a file](crate::Recording::live).
    pub path: Option<PathBuf>,
    /// Its length, in bytes.
    pub bytes: u64,
    /// Sampled allocations in it.
    pub samples: u64,
    /// Events that should be in it and are not.
    pub lost: Vec<Loss>,
    /// Whether it has the greatest size that it may have, and so does not go on to the end.
    pub is_full: bool,
    /// Events that a [deferred tracker](crate::Recording::deferred_tracker) was not told of, as too many
    /// were waiting for it.
    pub tracker_missed: u64,
    /// Calls of a [tracker](crate::Recording::tracker) that have panicked.
    pub tracker_panics: u64,
}

/// Lost events.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// How many.
    pub events: u64,
    /// Why, in words.
    pub reason: &'static str,
}

impl Summary {
    pub(crate) fn of(outcome: Outcome) -> Result<Summary, Error> {
        // There is one process, and it had one session.
        let report = outcome.sessions.into_iter().next();
        report.map_or(Ok(Summary::default()), Summary::of_report)
    }

    pub(crate) fn with(self, Shortfall { missed, panics }: Shortfall) -> Summary {
        Summary { tracker_missed: missed, tracker_panics: panics, ..self }
    }

    fn of_report(report: SessionReport) -> Result<Summary, Error> {
        let SessionReport { path, samples, bytes, is_full, lost, error, .. } = report;
        if let Some(error) = error {
            return Err(Error::Write { path, error });
        }
        let loss = |(reason, events): (lifetrace_recorder::LostReason, u64)| Loss {
            events,
            reason: reason.description(),
        };
        let lost = lost.into_iter().map(loss).collect();
        let path = Some(path).filter(|path| !path.as_os_str().is_empty());
        Ok(Summary { path, bytes, samples, lost, is_full, ..Summary::default() })
    }
}
