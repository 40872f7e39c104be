//! What a snapshot is of.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lifetrace_transport::segment::Sources;
use rustix::process::Pid;

use super::error::SnapshotError;
use super::numbers::NumbersSource;
use super::wishes::SnapshotWish;
use crate::runtimes::{Runtime, by_name};
use crate::shm::{Mapping, WeakMapping};

/// A session whose process can be asked.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub(crate) pid: Pid,
    /// Gone when the session is over.
    pub(crate) segment: WeakMapping,
    pub(crate) sources: Sources,
    /// What the process was run as.
    pub(crate) called: String,
    pub(crate) executable: PathBuf,
    /// Empty if there is none.
    pub(crate) trace: PathBuf,
    /// Snapshots so far.
    pub(crate) taken: u32,
    pub(crate) numbers: NumbersSource,
}

/// What a snapshot is of.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) pid: u32,
    /// Among the process's snapshots, from 1 on.
    pub(super) number: u32,
    pub(super) executable: PathBuf,
    /// Empty if there is none.
    pub(super) trace: PathBuf,
    pub(super) path: PathBuf,
    /// What the heap is of.
    pub(super) runtime: &'static str,
    /// What samples are called in the trace.
    pub(super) numbers: NumbersSource,
}

impl Registration {
    /// Whether the session goes on.
    pub(super) fn is_open(&self) -> bool {
        self.segment.upgrade().is_some_and(|segment| !segment.header().stopped())
    }

    /// What its heap is of, if it has one of which snapshots are taken.
    pub(super) fn runtime(&self) -> Option<&'static dyn Runtime> {
        let runtime = self.sources.managed().and_then(|source| by_name(source.name));
        runtime.filter(|runtime| runtime.takes_snapshots())
    }

    /// The next snapshot, and the session's segment, if that is still there.
    pub(super) fn subject(
        &mut self,
        wish: &SnapshotWish,
    ) -> Result<(Subject, Option<Arc<Mapping>>), SnapshotError> {
        let pid = self.pid.as_raw_nonzero().get() as u32;
        let refusal = || match self.sources.managed() {
            Some(_) => SnapshotError::NoHeap(pid),
            None => SnapshotError::NotSampled(pid),
        };
        let runtime = self.runtime().ok_or_else(refusal)?.title();
        self.taken += 1;
        let path = wish.path.clone().unwrap_or_else(|| self.beside());
        let (executable, trace) = (self.executable.clone(), self.trace.clone());
        let (number, numbers) = (self.taken, self.numbers.clone());
        let subject = Subject { pid, number, executable, trace, path, runtime, numbers };
        Ok((subject, self.segment.upgrade()))
    }

    /// The trace's name with the snapshot's number in place of its suffix.
    fn beside(&self) -> PathBuf {
        let Registration { trace, called, taken, pid, .. } = self;
        let stem = match trace.as_path() {
            path if path == Path::new("") => {
                PathBuf::from(format!("lifetrace.{called}.{}", pid.as_raw_nonzero()))
            }
            path => path.with_extension(""),
        };
        let mut name = stem.into_os_string();
        name.push(format!(".{taken}.lth"));
        name.into()
    }
}
