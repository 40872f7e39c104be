//! Why there is no snapshot.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::waking::Hindrance;
use crate::output_error::OutputError;

/// Why there is no snapshot. The process is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// No process of that number is being recorded.
    #[error("process {0} is not being recorded, or its recording is over")]
    NotRecorded(u32),
    /// A snapshot of it is being taken.
    #[error("a snapshot of process {0} is being taken already")]
    Busy(u32),
    /// It has no heap of objects.
    #[error(
        "process {0} has no heap that snapshots are taken of: they are of Ruby programs, and of native OCaml programs, \
         4.11 to 4.14, 5.3 and later, whose heaps are sampled"
    )]
    NoHeap(u32),
    /// Only its malloc is sampled.
    #[error(
        "of process {0} no heap of objects is sampled, so there is none to take a snapshot of: it has none, or was recorded \
         with --sources native (OCaml programs take --sources auto or ocaml); its blocks from malloc are looked through \
         for lost ones when it ends, unless it is recorded with --no-leak-check (docs/lost.md)"
    )]
    NotSampled(u32),
    /// It does not come to a place where its heap is whole.
    #[error(
        "process {pid} has not come to a place where its heap is whole within {patience:?}: {hindrance}"
    )]
    Late {
        /// Its number.
        pid: u32,
        /// For how long it was waited for.
        patience: Duration,
        /// Why it has not.
        hindrance: Hindrance,
    },
    /// It has ended, or executed another program.
    #[error("process {0} has ended before a snapshot was taken")]
    Ended(u32),
    /// The system has refused to fork it.
    #[error("the system refuses to fork process {0}: a snapshot is taken by a child of it")]
    NoChild(u32),
    /// Its runtime is not as expected.
    #[error(
        "the runtime of process {0} does not export what is needed to find all roots: its heap is not read on a guess"
    )]
    UnknownRuntime(u32),
    /// Parts of it run at the same time.
    #[error(
        "process {0} has made a ractor: from then on there is no place where all of its heap is whole"
    )]
    Parallel(u32),
    /// It would have taken too much memory.
    #[error(
        "the snapshot of process {pid} would have taken more than {} KiB of memory, and was given up (--snapshot-memory)",
        limit >> 10
    )]
    Memory {
        /// The process.
        pid: u32,
        /// What was allowed, in bytes.
        limit: u64,
    },
    /// The child has ended too early.
    #[error(
        "the child that reads the heap has ended after {blocks} blocks: it was killed, or the heap is damaged"
    )]
    Broken {
        /// How many it had told of.
        blocks: u64,
    },
    /// The child says what makes no sense.
    #[error("the child that reads the heap says what makes no sense; the file is incomplete")]
    Malformed,
    /// The file cannot be made.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The file cannot be written.
    #[error("{}: {error}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// No threads, or descriptors.
    #[error("cannot take a snapshot: {0}")]
    System(#[from] io::Error),
}
