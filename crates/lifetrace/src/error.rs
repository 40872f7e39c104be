//! What can go wrong, for people to read.

use std::io;
use std::path::{Path, PathBuf};

use lifetrace_inside::error::StartError;

/// Why there is no session, or no whole trace. The messages say what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program's global allocator is not an [`Alloc`](crate::Alloc), so nothing of it can be heard.
    #[error(
        "no lifetrace::Alloc is the global allocator of this program: declare \
         `#[global_allocator] static ALLOC: lifetrace::Alloc = lifetrace::Alloc::system();`"
    )]
    NoAllocator,
    /// Sessions come one after the other. Its file; empty if it has none.
    #[error("there is a session already{}: stop it first", writes(.0))]
    Active(PathBuf),
    /// Neither an interval of at least a byte, nor a rate above 0 and up to 1.
    #[error("{0}: the interval is at least 1 byte, and a rate is above 0 and at most 1")]
    Rate(String),
    /// Memtrace's format has no word for a rate that changes.
    #[error(
        "a trace in Memtrace's format has one rate: record to a file that does not end in .ctf"
    )]
    OneRate,
    /// No memory for sampled blocks.
    #[error("there is no memory for sampled blocks: is the address space limited (ulimit -v)?")]
    NoMemory,
    /// The recorder, or the trace's file.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Writing stopped; what was written before is a complete trace of that time.
    #[error("{}: {error}; the trace ends there", path.display())]
    Write {
        /// The trace.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// There is nothing to look at.
    #[error("no session is under way: start one, with `lifetrace::Recording::live().start()`")]
    NoSession,
    /// Sessions are not the tracker's.
    #[error("a tracker can neither start nor stop a session")]
    InTracker,
    /// An estimate that a profile has no room for.
    #[error(transparent)]
    TooLarge(#[from] lifetrace_pprof::whole::TooLarge),
    /// The session is over: its process has stopped it elsewhere, or is another one, from which this one
    /// was forked.
    #[error("the session is not one of this process, or has ended already")]
    Over,
}

fn writes(path: &Path) -> String {
    match path.as_os_str().is_empty() {
        true => String::new(),
        false => format!(", which writes {}", path.display()),
    }
}
