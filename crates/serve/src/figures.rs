//! What is counted of requests, and what the collector itself takes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use lifetrace_recorder::traces_in;

use crate::guard::Stranger;
use crate::http::Refused;

/// Requests since the start.
#[derive(Debug, Default)]
pub struct Counts(Mutex<Counted>);

/// Requests since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Those that were answered, by the answer's status.
    pub answered: BTreeMap<u16, u64>,
    /// Those that were refused, by reason.
    pub refused: BTreeMap<&'static str, u64>,
}

/// All reasons for which a request may be refused, so that each is told from the start.
const REASONS: [&str; 7] = ["user", "malformed", "busy", "failed", "host", "origin", "token"];

impl Counts {
    /// So far.
    pub fn so_far(&self) -> Counted {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for reason in REASONS {
            counted.refused.entry(reason).or_default();
        }
        counted
    }

    /// One was answered.
    pub fn answer(&self, status: u16) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counted.answered.entry(status).or_default() += 1;
    }

    /// One was refused, since who asked may not ask.
    pub fn refuse(&self, stranger: Stranger) {
        self.add(stranger.name());
    }

    /// One got no answer of the site's.
    pub fn note(&self, refused: Refused) {
        self.add(match refused {
            Refused::User => "user",
            Refused::Malformed => "malformed",
            Refused::Busy => "busy",
            Refused::Failed => "failed",
        });
    }

    fn add(&self, reason: &'static str) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counted.refused.entry(reason).or_default() += 1;
    }
}

/// What the collector itself takes, as far as the system says it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// Bytes of resident memory.
    pub resident: Option<u64>,
    /// Seconds of processor time.
    pub seconds: Option<f64>,
    /// Open files.
    pub files: Option<u64>,
    /// Traces in its folder, and their bytes, those included that are being written.
    pub traces: u64,
    /// Bytes of these.
    pub trace_bytes: u64,
    /// Bytes that are free where its folder is.
    pub free_bytes: Option<u64>,
}

impl Own {
    /// Of this process, with that folder.
    pub fn of(folder: &Path) -> Self {
        let traces = traces_in(folder);
        let bytes = traces.iter().filter_map(|it| it.place().metadata().ok());
        let disk = rustix::fs::statvfs(folder).ok();
        Self {
            resident: resident(),
            seconds: seconds(),
            files: fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count() as u64),
            traces: traces.len() as u64,
            trace_bytes: bytes.map(|it| it.len()).sum(),
            free_bytes: disk.map(|it| it.f_bavail.saturating_mul(it.f_frsize)),
        }
    }
}

fn resident() -> Option<u64> {
    let pages: u64 =
        fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

fn seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let sum = ticks()? + ticks()?;
    Some(sum as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_takes_something() {
        let folder = tempfile::tempdir().unwrap();
        let own = Own::of(folder.path());
        assert!(own.resident > Some(100_000) && own.files > Some(2) && own.free_bytes.is_some());
        assert!(own.seconds.is_some() && own.traces == 0);
    }

    #[test]
    fn every_reason_is_told_from_the_start() {
        let counts = Counts::default();
        counts.refuse(Stranger::Token);
        counts.answer(200);
        counts.note(Refused::User);
        let counted = counts.so_far();
        assert_eq!(counted.answered, [(200, 1)].into());
        let of = |reason| counted.refused[reason];
        assert_eq!((of("token"), of("user"), of("host"), counted.refused.len()), (1, 1, 0, 7));
        assert!(Stranger::ALL.iter().all(|it| REASONS.contains(&it.name())));
    }
}
