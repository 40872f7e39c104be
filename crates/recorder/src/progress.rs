//! Which sessions live and what the others came to: the one thing that all threads share.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::outcome::{Outcome, Refusal, SessionReport};

/// The condition is looked at again after this time.
const FOREVER: Duration = Duration::from_secs(3600);

#[derive(Debug, Default)]
pub(crate) struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    begun: u64,
    live: BTreeMap<u64, Pid>,
    reports: BTreeMap<u64, SessionReport>,
    refusals: Vec<Refusal>,
    stopping: bool,
}

/// A live session's place; leaving it, even by a panic, ends the session for all who wait.
#[derive(Debug)]
pub(crate) struct Seat {
    progress: Arc<Progress>,
    number: u64,
}

impl Progress {
    pub(crate) fn enter(self: &Arc<Self>, pid: Pid) -> Seat {
        let mut state = self.state();
        let number = state.begun;
        state.begun += 1;
        state.live.insert(number, pid);
        Seat { progress: Arc::clone(self), number }
    }

    pub(crate) fn refuse(&self, refusal: Refusal) {
        self.state().refusals.push(refusal);
    }

    pub(crate) fn has_session(&self, pid: Pid) -> bool {
        self.state().live.values().any(|&live| live == pid)
    }

    /// Waits until `pid` has no live session; false when that took longer than `patience`.
    pub(crate) fn wait_for_end_of(&self, pid: Pid, patience: Duration) -> bool {
        self.wait(Some(Instant::now() + patience), |state| {
            !state.live.values().any(|&live| live == pid)
        })
    }

    /// Waits until there is no live session, or [`stop`](Self::stop); false when `deadline` came
    /// first.
    pub(crate) fn wait_for_silence(&self, deadline: Option<Instant>) -> bool {
        self.wait(deadline, |state| state.live.is_empty() || state.stopping)
    }

    /// Waits until the last session has written its trace.
    pub(crate) fn wait_for_all(&self) {
        self.wait(None, |state| state.live.is_empty());
    }

    pub(crate) fn live_count(&self) -> usize {
        self.state().live.len()
    }

    /// Number of processes that have a live session and have not ended; of the others, only the
    /// traces remain to be written.
    pub(crate) fn living_processes(&self) -> usize {
        let state = self.state();
        state.live.values().filter(|&&pid| test_kill_process(pid) != Err(Errno::SRCH)).count()
    }

    pub(crate) fn stop(&self) {
        self.state().stopping = true;
        self.changed.notify_all();
    }

    pub(crate) fn stopping(&self) -> bool {
        self.state().stopping
    }

    pub(crate) fn outcome(&self) -> Outcome {
        let mut state = self.state();
        Outcome {
            sessions: std::mem::take(&mut state.reports).into_values().collect(),
            refusals: std::mem::take(&mut state.refusals),
        }
    }

    fn wait(&self, deadline: Option<Instant>, done: impl Fn(&State) -> bool) -> bool {
        let mut state = self.state();
        while !done(&state) {
            let patience = deadline
                .map_or(FOREVER, |deadline| deadline.saturating_duration_since(Instant::now()));
            if patience.is_zero() {
                return false;
            }
            let woken = self.changed.wait_timeout(state, patience);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Ends the session with what is to be told about it, if anything is.
    pub(crate) fn leave(self, report: Option<SessionReport>) {
        if let Some(report) = report {
            self.progress.state().reports.insert(self.number, report);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.progress.state().live.remove(&self.number);
        self.progress.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_comes_when_the_last_one_leaves() {
        let progress = Arc::new(Progress::default());
        let pid = rustix::process::getpid();
        let (first, second) = (progress.enter(pid), progress.enter(pid));
        let soon = || Some(Instant::now() + Duration::from_millis(1));
        first.leave(None);
        assert!(!progress.wait_for_silence(soon()));
        assert!(!progress.wait_for_end_of(pid, Duration::ZERO));
        let leaving = std::thread::spawn(move || second.leave(None));
        assert!(progress.wait_for_silence(None));
        leaving.join().unwrap();
        assert!(!progress.has_session(pid));
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let progress = Arc::new(Progress::default());
        let _seat = progress.enter(rustix::process::getpid());
        progress.stop();
        assert!(progress.wait_for_silence(None));
        assert_eq!(progress.live_count(), 1);
    }

    #[test]
    fn a_thread_that_panics_leaves_its_seat() {
        let progress = Arc::new(Progress::default());
        let seat = progress.enter(rustix::process::getpid());
        drop(seat);
        progress.wait_for_all();
        assert!(progress.outcome().sessions.is_empty());
    }
}
