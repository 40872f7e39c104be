//! Snapshots that nobody asks for one by one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use rustix::process::Pid;

use super::desk::{Desk, SnapshotWish};
use crate::observe::kilobytes;
use crate::wakeup::Wakeup;

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

/// How often one looks at resident memory.
const LOOKS_APART: Duration = Duration::from_millis(200);

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

    /// Takes them until `stop` is raised.
    pub(crate) fn follow(&self, desk: &Arc<Desk>, stop: &Wakeup) {
        let mut next = self.every.map(|every| Instant::now() + every);
        let mut above = FxHashSet::default();
        while !stop.wait(Some(self.until_next_look(next))) {
            if let (Some(due), Some(every)) = (next, self.every)
                && Instant::now() >= due
            {
                desk.take_of_all(&self.wish("every so often"));
                // What took longer than that is not made up for.
                next = Some((due + every).max(Instant::now()));
            }
            for pid in self.crossed(desk, &mut above) {
                desk.take_and_note(pid, &self.wish("resident memory"));
            }
        }
    }

    fn until_next_look(&self, next: Option<Instant>) -> Duration {
        let left = next.map(|next| next.saturating_duration_since(Instant::now()));
        let look = self.above_resident.map(|_| LOOKS_APART);
        [left, look].into_iter().flatten().min().unwrap_or(LOOKS_APART)
    }

    /// The processes whose memory has come to be more than it may be since the last look.
    fn crossed(&self, desk: &Desk, above: &mut FxHashSet<Pid>) -> Vec<Pid> {
        let Some(limit) = self.above_resident else { return Vec::new() };
        let mut crossed = Vec::new();
        for pid in desk.processes() {
            let resident = resident(pid).unwrap_or(0);
            if resident > limit && above.insert(pid) {
                crossed.push(pid);
            } else if resident < limit / 10 * 9 {
                above.remove(&pid);
            }
        }
        crossed
    }

    pub(super) fn wish(&self, cause: &str) -> SnapshotWish {
        SnapshotWish {
            cause: cause.to_owned(),
            path: None,
            overwrite: self.overwrite,
            memory: self.memory,
            patience: PATIENCE,
        }
    }
}

fn resident(pid: Pid) -> Option<u64> {
    let status = std::fs::read(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    kilobytes(&status, "VmRSS:").map(|bytes| bytes.0)
}
