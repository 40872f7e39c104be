//! Snapshots that are due at some time, or at some size.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use rustix::process::Pid;

use super::desk::Desk;
use super::wishes::SnapshotPlan;
use crate::observe::kilobytes;
use crate::wakeup::Wakeup;

/// How often one looks at resident memory.
const LOOKS_APART: Duration = Duration::from_millis(200);

impl SnapshotPlan {
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
}

fn resident(pid: Pid) -> Option<u64> {
    let status = std::fs::read(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    kilobytes(&status, "VmRSS:").map(|bytes| bytes.0)
}
