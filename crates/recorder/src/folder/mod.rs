//! A folder of finished traces, for a recorder that runs for months.
//!
//! ```text
//! .lifetrace.redis-server.812.20261127T165500Z.lt.part    is being written
//!  lifetrace.redis-server.812.20261127T165500Z.lt         is whole: renamed when its last byte is on the disk
//! ```
//!
//! A process's trace is cut into files, each of which stands for itself: see `sink/succession.rs`. One recorder at a
//! time has a folder. What an earlier one has left unfinished is finished when the next one [opens](Folder::open) it, and
//! what is older or more than the user wants to keep is removed; nothing but traces of these names that belong to this
//! user is ever touched.

mod leftovers;
mod listing;
mod name;
mod part;
mod retention;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

pub use listing::{FolderTrace, traces_in};
pub(crate) use part::Part;
pub use retention::Retention;

/// Held by the recorder whose folder it is.
const LOCK: &str = ".lifetrace.lock";

/// When a process's trace goes on in another file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// When a file covers so much time.
    pub every: Option<Duration>,
    /// When a file has so many bytes.
    pub bytes: Option<u64>,
}

/// Whether a file is called as traces in a folder of finished ones are.
pub(crate) fn is_of_folder(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name::is_trace(&name.to_string_lossy()))
}

/// By process, the file that is being written in such a folder: of several, the one that begins last.
pub(crate) fn being_written(folder: &Path) -> BTreeMap<u32, PathBuf> {
    let mut newest: BTreeMap<u32, (String, PathBuf)> = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Some((pid, start)) = name::of_part(&name).and_then(name::process_and_start) else {
            continue;
        };
        let known = newest.entry(pid).or_default();
        if *known.0 <= *start {
            *known = (start.to_owned(), entry.path());
        }
    }
    newest.into_iter().map(|(pid, (_, path))| (pid, path)).collect()
}

/// A folder of finished traces, and this process is the one that writes there.
#[derive(Clone, Debug)]
pub struct Folder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    rotation: Rotation,
    retention: Retention,
    counts: Counts,
    /// Its lock ends with it.
    _lock: File,
}

#[derive(Debug, Default)]
struct Counts {
    finished: AtomicU64,
    bytes: AtomicU64,
    removed: AtomicU64,
    unwritable: AtomicU64,
    unrecorded: AtomicU64,
}

/// What has become of the files of a folder since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FolderFigures {
    /// Traces finished.
    pub finished: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Files removed, traces and snapshots, since they were older or more than wanted.
    pub removed: u64,
    /// Processes of which nothing can be written at present: the disk is full.
    pub unwritable: u64,
    /// Events that were not written for that reason.
    pub unrecorded: u64,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Somebody else has it.
    #[error("{}: another `lifetrace collect` writes there", .0.display())]
    Taken(PathBuf),
    /// The kernel refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl Folder {
    /// Takes a folder; makes it, for this user alone, if it is not there. What an earlier recorder has left unfinished
    /// there is finished.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn open(
        path: &Path,
        rotation: Rotation,
        retention: Retention,
    ) -> Result<Folder, FolderError> {
        let failed = |error| FolderError::Io { path: path.to_owned(), error };
        let path = std::path::absolute(path).map_err(failed)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed)?;
        let lock = lock(&path)?;
        let inner = Inner { path, rotation, retention, counts: Counts::default(), _lock: lock };
        let folder = Folder(Arc::new(inner));
        leftovers::finish(&folder);
        folder.tidy();
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// When files are followed by others.
    pub(crate) fn rotation(&self) -> Rotation {
        self.0.rotation
    }

    /// What has become of its files.
    pub fn figures(&self) -> FolderFigures {
        let Counts { finished, bytes, removed, unwritable, unrecorded } = &self.0.counts;
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        FolderFigures {
            finished: get(finished),
            bytes: get(bytes),
            removed: get(removed),
            unwritable: get(unwritable),
            unrecorded: get(unrecorded),
        }
    }

    /// Removes what is older or more than is wanted.
    pub fn tidy(&self) {
        let removed = self.0.retention.apply(&self.0.path);
        self.0.counts.removed.fetch_add(removed, Ordering::Relaxed);
    }

    fn count_finished(&self, bytes: u64) {
        self.0.counts.finished.fetch_add(1, Ordering::Relaxed);
        self.0.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// From now on a process's trace cannot be written, or can be again.
    pub(crate) fn note_unwritable(&self, is_so: bool) {
        let count = &self.0.counts.unwritable;
        if is_so {
            count.fetch_add(1, Ordering::Relaxed)
        } else {
            count.fetch_sub(1, Ordering::Relaxed)
        };
    }

    /// So many events could not be written.
    pub(crate) fn note_unrecorded(&self, events: u64) {
        self.0.counts.unrecorded.fetch_add(events, Ordering::Relaxed);
    }
}

fn lock(path: &Path) -> Result<File, FolderError> {
    let failed = |error| FolderError::Io { path: path.to_owned(), error };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    let file = options.open(path.join(LOCK)).map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(FolderError::Taken(path.to_owned())),
        Err(error) => Err(failed(error.into())),
    }
}

/// The folder's own entries.
fn entries(path: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(path).into_iter().flatten().flatten()
}

#[cfg(test)]
mod tests;
