//! Removes the oldest traces and snapshots of a folder.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{entries, name};

/// How much is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// What was finished longer ago is removed.
    pub age: Option<Duration>,
    /// Of more bytes than these the oldest are removed; what is being written counts.
    pub bytes: Option<u64>,
}

/// A trace or snapshot that is whole.
struct Finished {
    path: PathBuf,
    changed: SystemTime,
    bytes: u64,
}

impl Retention {
    /// Removes what is not to be kept; how many files.
    pub(super) fn apply(self, folder: &Path) -> u64 {
        if self == Retention::default() {
            return 0;
        }
        let (mut finished, unfinished) = survey(folder);
        finished.sort_by_key(|trace| trace.changed);
        let mut bytes = finished.iter().map(|trace| trace.bytes).sum::<u64>() + unfinished;
        let mut removed = 0;
        for trace in &finished {
            let is_old = self.age.is_some_and(|age| is_older(trace.changed, age));
            let is_too_much = self.bytes.is_some_and(|most| bytes > most);
            if (is_old || is_too_much) && fs::remove_file(&trace.path).is_ok() {
                removed += 1;
                bytes -= trace.bytes;
            }
        }
        removed
    }
}

/// One of the future is not old: a clock was set back.
fn is_older(changed: SystemTime, age: Duration) -> bool {
    changed.elapsed().is_ok_and(|since| since > age)
}

/// What is whole, and bytes of those that are not. Only regular files of this user are ours.
fn survey(folder: &Path) -> (Vec<Finished>, u64) {
    let (mut finished, mut unfinished) = (Vec::new(), 0);
    for entry in entries(folder) {
        let (file_name, metadata) = (entry.file_name(), entry.path().symlink_metadata());
        let (Some(name), Ok(metadata)) = (file_name.to_str(), metadata) else { continue };
        if !metadata.is_file() || metadata.uid() != rustix::process::geteuid().as_raw() {
            continue;
        }
        if name::is_ours(name) {
            let changed = metadata.modified().unwrap_or_else(|_| SystemTime::now());
            finished.push(Finished { path: entry.path(), changed, bytes: metadata.len() });
        } else if name::of_part(name).is_some() {
            unfinished += metadata.len();
        }
    }
    (finished, unfinished)
}
