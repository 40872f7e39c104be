//! What snapshots are wanted, and what comes of it.

use std::path::PathBuf;
use std::time::Duration;

use super::error::SnapshotError;

/// How a snapshot is to be taken.
#[derive(Clone, Debug)]
pub struct SnapshotWish {
    /// Why, in a word or two; the file says so.
    pub cause: String,
    /// Where to; by default beside the process's trace, with a number.
    pub path: Option<PathBuf>,
    /// Whether a file that exists may be overwritten.
    pub overwrite: bool,
    /// How much memory the child that reads the heap may take for itself, in bytes.
    pub memory: u64,
    /// For how long to wait for the process to come to a place where its heap is whole.
    pub patience: Duration,
}

/// A snapshot that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedSnapshot {
    /// Its file.
    pub path: PathBuf,
    /// Number of blocks.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// For how long the process was stopped.
    pub pause: Duration,
    /// Processor time of the child that has read the heap.
    pub cpu: Duration,
    /// The child's own memory, in bytes.
    pub memory: u64,
    /// Memory that was copied since the process went on, in bytes, if the system says so.
    pub copied: Option<u64>,
    /// Length of the file, in bytes.
    pub file_bytes: u64,
}

/// What has become of a snapshot that nobody waited for.
#[derive(Debug)]
pub struct UnaskedSnapshot {
    /// The process.
    pub pid: u32,
    /// The snapshot, or why there is none.
    pub result: Result<SavedSnapshot, SnapshotError>,
}

/// When snapshots of each process with a heap of objects are taken without being asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotPlan {
    /// So long after one another.
    pub every: Option<Duration>,
    /// When the program ends by itself.
    pub at_exit: bool,
    /// After each so many collections of the old heap.
    pub after_collections: Option<u64>,
    /// When the resident memory has come to be more than this, in bytes; again when it had been below nine tenths of it.
    pub above_resident: Option<u64>,
    /// How much memory the child that reads the heap may take for itself, in bytes.
    pub memory: u64,
    /// Whether files that exist may be overwritten.
    pub overwrite: bool,
}

/// What children that read heaps may take, where nobody says.
pub const SNAPSHOT_MEMORY: u64 = 1 << 30;

impl Default for SnapshotPlan {
    fn default() -> SnapshotPlan {
        SnapshotPlan {
            every: None,
            at_exit: false,
            after_collections: None,
            above_resident: None,
            memory: SNAPSHOT_MEMORY,
            overwrite: false,
        }
    }
}

/// For how long a process that is busy elsewhere is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

impl SnapshotPlan {
    /// Whether the recorder has to take any by itself.
    pub(crate) fn has_times(&self) -> bool {
        self.every.is_some() || self.above_resident.is_some()
    }

    /// Whether processes take any by themselves.
    pub(crate) fn is_unasked(&self) -> bool {
        self.at_exit || self.after_collections.is_some()
    }

    /// One that nobody waits for.
    pub(crate) fn wish(&self, cause: &str) -> SnapshotWish {
        SnapshotWish {
            cause: cause.to_owned(),
            path: None,
            overwrite: self.overwrite,
            memory: self.memory,
            patience: PATIENCE,
        }
    }
}
