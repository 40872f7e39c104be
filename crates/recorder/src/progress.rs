//! Which sessions live, how they go, and what the others came to: the one thing that all threads share.

use std::collections::BTreeMap;
use std::fs::remove_file;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lifetrace_trace::fact::Exit;
use lifetrace_trace::ids::{Bytes, Timestamp};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::executions::Executions;
use crate::folder;
use crate::highest::Highest;
use crate::notice::Untraced;
use crate::outcome::{Figures, Outcome, Refusal, SessionReport, Unheard};
use crate::plan::Plan;
use crate::process::Called;
use crate::remains::{MOST_REPORTS, Remains};
use crate::requests::{Listed, ListedSession, Recorded, now};
use crate::usage::Usage;

/// Who reads traces while they are written says so again within this time.
const WATCHED: Duration = Duration::from_secs(5);

/// The condition is looked at again after this time.
const FOREVER: Duration = Duration::from_secs(3600);

#[derive(Debug, Default)]
pub(crate) struct Progress {
    plan: Plan,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    begun: u64,
    live: BTreeMap<u64, Live>,
    /// Of sessions that are over.
    past: Figures,
    remains: Remains,
    highest: Highest,
    refusals: Vec<Refusal>,
    missed: u64,
    stopping: bool,
    command_end: Option<(Pid, Exit, Option<Usage>)>,
    /// When somebody last said that he reads the traces while they are written.
    watched: Option<Instant>,
    /// What processes have executed that has not said hello.
    executions: Executions,
}

#[derive(Debug)]
struct Live {
    pid: Pid,
    parent: u32,
    called: Called,
    trace: PathBuf,
    since: Timestamp,
    figures: Figures,
}

/// The slot of a live session; leaving it, even by a panic, ends the session for all who wait.
#[derive(Debug)]
pub(crate) struct SessionSlot {
    progress: Arc<Progress>,
    number: u64,
}

impl State {
    /// See [`Outcome::resident_untraced`]. Nothing is known if processes were not to be traced, or asked in
    /// vain.
    fn resident_untraced(&self, follows: bool) -> Option<u64> {
        let most = self.command_end.and_then(|(_, _, usage)| usage?.most_of_all);
        let is_sure = follows && self.refusals.is_empty() && self.missed == 0;
        most.filter(|most| is_sure && self.highest.is_surpassed_by(*most)).map(|most| most.0)
    }

    /// Whether a live session is of a process that this one has started.
    fn has_living_child(&self, number: u64, pid: u32) -> bool {
        self.live.range(number + 1..).any(|(_, live)| live.parent == pid)
    }
}

impl Progress {
    pub(crate) fn new(plan: Plan) -> Progress {
        let state = State { highest: Highest::own(), ..State::default() };
        Progress { plan, state: Mutex::new(state), ..Progress::default() }
    }

    /// A session of `pid`, which `parent` has started, begins.
    pub(crate) fn enter(
        self: &Arc<Self>,
        pid: Pid,
        parent: u32,
        called: Called,
        trace: &Path,
    ) -> SessionSlot {
        let mut state = self.state();
        let number = state.begun;
        state.begun += 1;
        state.executions.hear(pid);
        let (trace, figures) = (trace.to_owned(), Figures::default());
        let since = now();
        state.live.insert(number, Live { pid, parent, called, trace, since, figures });
        SessionSlot { progress: Arc::clone(self), number }
    }

    pub(crate) fn refuse(&self, refusal: Refusal) {
        let mut state = self.state();
        if state.refusals.len() < MOST_REPORTS {
            state.refusals.push(refusal);
        }
    }

    /// A process that a traced one has started runs this program, of which there is no trace.
    pub(crate) fn note_untraced(&self, pid: Pid, program: Arc<str>, why: Untraced) {
        self.state().remains.untraced.note(pid, program, why);
    }

    /// Counts a process that has ended before anything of it could be traced.
    pub(crate) fn miss(&self) {
        self.state().missed += 1;
    }

    pub(crate) fn has_session(&self, pid: Pid) -> bool {
        self.state().live.values().any(|live| live.pid == pid)
    }

    /// Where the trace of a process is being written.
    pub(crate) fn trace_of(&self, pid: Pid) -> Option<PathBuf> {
        let state = self.state();
        state.live.values().rev().find(|live| live.pid == pid).map(|live| live.trace.clone())
    }

    /// What a process was run as.
    pub(crate) fn called(&self, pid: Pid) -> Option<Called> {
        let state = self.state();
        state.live.values().rev().find(|live| live.pid == pid).map(|live| live.called.clone())
    }

    /// Notes how the command has ended, before anybody is told who asks the system.
    pub(crate) fn command_has_ended(&self, pid: Pid, exit: Exit, usage: Option<Usage>) {
        self.state().command_end = Some((pid, exit, usage));
    }

    /// Waits until `pid` has no live session; false when that took longer than `patience`.
    pub(crate) fn wait_for_end_of(&self, pid: Pid, patience: Duration) -> bool {
        self.wait(Some(Instant::now() + patience), |state| {
            !state.live.values().any(|live| live.pid == pid)
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

    /// Whether a process that was traced is about to say hello as another program.
    pub(crate) fn expects_any(&self) -> bool {
        self.state().executions.expects_any()
    }

    pub(crate) fn live_count(&self) -> usize {
        self.state().live.len()
    }

    /// Number of processes that have a live session and have not ended; of the others, only the
    /// traces remain to be written.
    pub(crate) fn living_processes(&self) -> usize {
        let state = self.state();
        let lives = |live: &&Live| test_kill_process(live.pid) != Err(Errno::SRCH);
        state.live.values().filter(lives).count()
    }

    /// How the recording goes, all sessions together.
    pub(crate) fn figures(&self) -> Figures {
        let state = self.state();
        let live = state.live.values().map(|live| live.figures);
        let mut sum = live.fold(state.past, Figures::and);
        sum.processes = state.live.len();
        sum
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
        state.remains.drop_all_empty(&self.plan).iter().for_each(|path| remove(path));
        let resident_untraced = state.resident_untraced(self.plan.follows);
        let Remains { reports, others, empty, untraced } = std::mem::take(&mut state.remains);
        Outcome {
            sessions: reports.into_values().collect(),
            others,
            empty,
            untraced: untraced.programs(),
            executions: state.executions.take(),
            resident_untraced,
            refusals: std::mem::take(&mut state.refusals),
            missed: std::mem::take(&mut state.missed),
            snapshots: Vec::new(),
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

impl Listed for Progress {
    fn recorded(&self) -> Recorded {
        let state = self.state();
        let mut sessions: Vec<ListedSession> = state.live.values().map(Live::listed).collect();
        let begun = state.begun;
        drop(state);
        // The trace of a session is many files there, the last of which has another name until it is finished.
        let mut folders: BTreeMap<PathBuf, BTreeMap<u32, PathBuf>> = BTreeMap::new();
        for session in sessions.iter_mut().filter(|it| folder::is_of_folder(&it.trace)) {
            let parent = session.trace.parent().unwrap_or(Path::new("/")).to_owned();
            let being_written =
                folders.entry(parent).or_insert_with_key(|parent| folder::being_written(parent));
            if let Some(path) = being_written.get(&session.pid) {
                session.trace.clone_from(path);
            }
        }
        Recorded { sessions, begun }
    }

    fn watch(&self) {
        self.state().watched = Some(Instant::now());
    }
}

impl Live {
    fn listed(&self) -> ListedSession {
        let Figures { samples, bytes, resident, lost, .. } = self.figures;
        ListedSession {
            pid: self.pid.as_raw_nonzero().get() as u32,
            parent: self.parent,
            program: self.called.name.clone(),
            // Whoever is told may be in another directory.
            trace: std::path::absolute(&self.trace).unwrap_or_default(),
            since: self.since,
            samples,
            bytes,
            resident,
            lost,
        }
    }
}

impl SessionSlot {
    /// Whether somebody reads the trace while it is written.
    pub(crate) fn is_watched(&self) -> bool {
        self.progress.state().watched.is_some_and(|last| last.elapsed() < WATCHED)
    }

    /// What the user wants of all traces.
    pub(crate) fn plan(&self) -> &Plan {
        &self.progress.plan
    }

    /// How a process has ended, and what it has used, if it is the command and has been waited for.
    pub(crate) fn end_of_command(&self, pid: Pid) -> Option<(Exit, Option<Usage>)> {
        let (command, exit, usage) = self.progress.state().command_end?;
        (command == pid).then_some((exit, usage))
    }

    /// The process has executed another program, of which nothing was heard until now, and this is known of it; if nothing
    /// is, it is to say hello.
    pub(crate) fn note_execution(&self, pid: Pid, known: Option<Unheard>) {
        let mut state = self.progress.state();
        let has_come =
            state.live.iter().any(|(number, live)| *number > self.number && live.pid == pid);
        let own = state.live.get(&self.number);
        let program = own.map(|live| live.called.name.clone()).unwrap_or_default();
        match known {
            _ if has_come => {}
            Some(what) => state.executions.note(pid, program, what),
            None => state.executions.expect(pid, program),
        }
    }

    /// How the session goes.
    pub(crate) fn report(&self, figures: Figures) {
        if let Some(live) = self.progress.state().live.get_mut(&self.number) {
            live.figures = figures;
        }
    }

    /// Ends the session with what is to be reported about it, if anything is, and the most resident memory that
    /// its program has had, if that is known for certain.
    pub(crate) fn leave(self, report: Option<SessionReport>, most_resident: Option<Bytes>) {
        let mut state = self.progress.state();
        state.highest.take(most_resident);
        let Some(report) = report else { return };
        let has_living_child = state.has_living_child(self.number, report.pid);
        let removed = state.remains.settle(self.number, report, has_living_child, self.plan());
        drop(state);
        if let Some(path) = removed {
            remove(&path);
        }
    }
}

/// What cannot be removed stays.
fn remove(trace: &Path) {
    let _ = remove_file(trace);
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        let mut state = self.progress.state();
        if let Some(live) = state.live.remove(&self.number) {
            state.past = state.past.and(Figures { resident: 0, ..live.figures });
        }
        drop(state);
        self.progress.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Others;
    use crate::remains::tests::report;

    #[test]
    fn of_a_horde_the_most_remarkable_are_kept() {
        const COUNT: u64 = 100_000;
        let progress = Arc::new(Progress::default());
        for samples in 1..=COUNT {
            progress
                .enter(rustix::process::getpid(), 1, Called::default(), Path::new("t"))
                .leave(Some(report(samples)), None);
        }
        let outcome = progress.outcome();
        let kept: Vec<u64> = outcome.sessions.iter().map(|session| session.samples).collect();
        assert!(
            kept.len() <= MOST_REPORTS && kept.starts_with(&[1, 17]) && kept.ends_with(&[COUNT])
        );
        let Others { traces, samples, incomplete } = outcome.others;
        assert_eq!((traces + kept.len() as u64, incomplete), (COUNT, 0));
        assert_eq!(samples + kept.iter().sum::<u64>(), COUNT * (COUNT + 1) / 2);
    }

    /// Processes 10 to 13, each started by the one before, and 20 and 21; of 12 something was sampled.
    #[test]
    fn a_trace_that_tells_nothing_stays_if_it_leads_to_one_that_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = |pid: u32| folder.path().join(pid.to_string());
        let progress = Arc::new(Progress::default());
        let enter = |pid: u32| {
            std::fs::write(path(pid), "").unwrap();
            let raw = Pid::from_raw(pid as i32).unwrap();
            progress.enter(raw, pid - 1, Called::default(), &path(pid))
        };
        let slots = [10, 11, 12, 13, 20, 21].map(|pid| (pid, enter(pid)));
        let is_there = |pid| path(pid).exists();
        for (pid, slot) in slots {
            let (samples, is_full) = (u64::from(pid == 12), false);
            let report =
                SessionReport { pid, parent: pid - 1, path: path(pid), is_full, ..report(samples) };
            slot.leave(Some(report), None);
            assert_eq!(is_there(pid), !matches!(pid, 13 | 21), "{pid}");
        }
        let outcome = progress.outcome();
        let kept: Vec<u32> = outcome.sessions.iter().map(|session| session.pid).collect();
        assert_eq!((kept, outcome.empty), (vec![10, 11, 12], 3));
        assert!(!is_there(20) && is_there(10));
    }

    #[test]
    fn silence_comes_when_the_last_one_leaves() {
        let progress = Arc::new(Progress::default());
        let pid = rustix::process::getpid();
        let (first, second) = (
            progress.enter(pid, 1, Called::default(), Path::new("t")),
            progress.enter(pid, 1, Called::default(), Path::new("u")),
        );
        let soon = || Some(Instant::now() + Duration::from_millis(1));
        first.leave(None, None);
        assert!(!progress.wait_for_silence(soon()));
        assert!(!progress.wait_for_end_of(pid, Duration::ZERO));
        let leaving = std::thread::spawn(move || second.leave(None, None));
        assert!(progress.wait_for_silence(None));
        leaving.join().unwrap();
        assert!(!progress.has_session(pid));
    }

    #[test]
    fn figures_are_of_all_sessions() {
        let progress = Arc::new(Progress::default());
        let pid = rustix::process::getpid();
        let (first, second) = (
            progress.enter(pid, 1, Called::default(), Path::new("t")),
            progress.enter(pid, 1, Called::default(), Path::new("u")),
        );
        first.report(Figures { processes: 1, samples: 5, bytes: 100, resident: 4096, lost: 1 });
        second.report(Figures { processes: 1, samples: 7, bytes: 10, resident: 8192, lost: 0 });
        first.leave(None, None);
        let expected = Figures { processes: 1, samples: 12, bytes: 110, resident: 8192, lost: 1 };
        assert_eq!(progress.figures(), expected);
    }

    #[test]
    fn who_executes_another_program_is_expected_until_that_says_hello() {
        let progress = Arc::new(Progress::default());
        let pid = rustix::process::getpid();
        let slot = progress.enter(pid, 1, Called::default(), Path::new("t"));
        slot.note_execution(pid, None);
        slot.leave(None, None);
        assert!(progress.expects_any());
        let later = progress.enter(pid, 1, Called::default(), Path::new("u"));
        assert!(!progress.expects_any());
        // One that has come is not expected, nor one that is gone.
        let (earlier, last) = (later, progress.enter(pid, 1, Called::default(), Path::new("v")));
        earlier.note_execution(pid, None);
        last.note_execution(Pid::from_raw(i32::MAX).unwrap(), None);
        assert!(!progress.expects_any());
        assert_eq!(progress.outcome().executions.len(), 1);
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let progress = Arc::new(Progress::default());
        let _slot = progress.enter(rustix::process::getpid(), 1, Called::default(), Path::new("t"));
        progress.stop();
        assert!(progress.wait_for_silence(None));
        assert_eq!(progress.live_count(), 1);
    }

    #[test]
    fn a_thread_that_panics_leaves_its_seat() {
        let progress = Arc::new(Progress::default());
        let slot = progress.enter(rustix::process::getpid(), 1, Called::default(), Path::new("t"));
        drop(slot);
        progress.wait_for_all();
        assert!(progress.outcome().sessions.is_empty());
    }
}
