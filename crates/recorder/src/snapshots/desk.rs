//! Who can be asked for a snapshot, and who waits for one.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lifetrace_transport::handshake::token;
use lifetrace_transport::segment::SegmentHeader;
use lifetrace_transport::snapshot::{Answer, Taken};
use rustix::process::Pid;
use rustix::rand::{GetRandomFlags, getrandom};

use super::error::SnapshotError;
use super::saving;
use super::subject::Registration;
use super::waking::Waking;
use super::wishes::{SavedSnapshot, SnapshotPlan, SnapshotWish, UnaskedSnapshot};
use crate::looking::Requests;
use crate::shm::Mapping;
use crate::threads;
use crate::wakeup::Wakeup;

/// The one desk of a recorder.
#[derive(Debug)]
pub(crate) struct Desk {
    state: Mutex<State>,
    changed: Condvar,
    /// Where looks for lost blocks are ordered.
    looks: Arc<Requests>,
    wakeup: Arc<Wakeup>,
}

#[derive(Debug, Default)]
struct State {
    registered: BTreeMap<u64, Registration>,
    begun: u64,
    /// By token, who waits for a child.
    awaited: BTreeMap<u64, Sender<Arrived>>,
    /// By token, whose children come without being asked for, and what is wanted of them.
    standing: BTreeMap<u64, (u64, SnapshotWish)>,
    /// The processes that are being asked.
    asked: BTreeSet<u32>,
    /// Snapshots that are being saved.
    at_work: usize,
    unasked: Vec<UnaskedSnapshot>,
}

/// With more processes than these, those that have ended are forgotten.
const MANY: usize = 4096;

impl State {
    /// The session of a process that goes on.
    fn last_of(&self, pid: Pid) -> Option<&Registration> {
        self.registered.values().rev().find(|it| it.pid == pid && it.is_open())
    }

    fn forget_those_that_are_over(&mut self) {
        self.registered.retain(|_, registration| registration.is_open());
        let registered = &self.registered;
        self.standing.retain(|_, (number, _)| registered.contains_key(number));
    }
}

/// A child that has come.
#[derive(Debug)]
struct Arrived {
    connection: OwnedFd,
    parent: Pid,
}

impl Desk {
    /// One that orders looks for lost blocks there, and then raises `wakeup`.
    pub(crate) fn new(looks: Arc<Requests>, wakeup: Arc<Wakeup>) -> Desk {
        Desk { state: Mutex::default(), changed: Condvar::new(), looks, wakeup }
    }

    /// Has a process looked through for lost blocks, if its recorder looks at all; where what is found will be.
    pub(crate) fn look(&self, pid: Pid) -> Option<PathBuf> {
        let segment = self.segment(pid)?;
        let trace = self.state().last_of(pid)?.trace.clone();
        let looks = segment.header().settings().looks_for_lost != 0 && trace != Path::new("");
        looks.then(|| {
            self.looks.add(pid);
            self.wakeup.raise();
            trace
        })
    }

    /// The memory that is shared with a process that is recorded now.
    pub(crate) fn segment(&self, pid: Pid) -> Option<Arc<Mapping>> {
        self.state().last_of(pid)?.segment.upgrade()
    }

    /// Whether that process is recorded now.
    pub(crate) fn records(&self, pid: Pid) -> bool {
        self.state().last_of(pid).is_some()
    }

    /// From now on that process can be asked, and is told what is wanted without being asked.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub(crate) fn register(
        &self,
        registration: Registration,
        header: &SegmentHeader,
        plan: &SnapshotPlan,
    ) -> std::io::Result<()> {
        let mut state = self.state();
        if state.registered.len() > MANY {
            state.forget_those_that_are_over();
        }
        let number = state.begun;
        state.begun += 1;
        state.registered.insert(number, registration);
        let mut stand = |cause| {
            let taken = Taken { token: token(random()?), memory: plan.memory };
            state.standing.insert(taken.token, (number, plan.wish(cause)));
            Ok::<_, std::io::Error>(taken)
        };
        if plan.at_exit {
            header.standing().want_at_exit(stand("at exit")?);
        }
        if let Some(collections) = plan.after_collections {
            header.standing().want_after_collections(collections, stand("after a collection")?);
        }
        Ok(())
    }

    /// A process is about to fork a child for that token, which speaks by this connection.
    pub(crate) fn arrive(self: &Arc<Self>, token: u64, connection: OwnedFd, parent: Pid) {
        let arrived = Arrived { connection, parent };
        let mut state = self.state();
        if let Some(waiting) = state.awaited.remove(&token) {
            // Who has waited too long is gone.
            let _ = waiting.send(arrived);
        } else if let Some((number, wish)) = state.standing.get(&token).cloned() {
            state.at_work += 1;
            drop(state);
            let desk = Arc::clone(self);
            let work = move || desk.save_unasked(number, &wish, &arrived);
            if threads::spawn("snapshot", work).is_err() {
                self.leave_work();
            }
        }
    }

    fn save_unasked(&self, number: u64, wish: &SnapshotWish, arrived: &Arrived) {
        let prepared =
            self.state().registered.get_mut(&number).map(|it| (it.pid, it.subject(wish)));
        if let Some((pid, subject)) = prepared {
            let result = subject.and_then(|(subject, segment)| {
                saving::save(
                    &subject,
                    &arrived.connection,
                    arrived.parent,
                    wish,
                    segment.as_deref(),
                )
            });
            self.state().unasked.push(UnaskedSnapshot { pid: number_of(pid), result });
        }
        self.leave_work();
    }

    fn leave_work(&self) {
        self.state().at_work -= 1;
        self.changed.notify_all();
    }

    /// The processes that can be asked, and have a heap of objects.
    pub(crate) fn processes(&self) -> Vec<Pid> {
        let state = self.state();
        let has_heap = |it: &&Registration| it.is_open() && it.runtime().is_some();
        state.registered.values().filter(has_heap).map(|it| it.pid).collect()
    }

    /// Takes a snapshot of each process that can be asked, one after the other.
    pub(crate) fn take_of_all(&self, wish: &SnapshotWish) {
        self.processes().into_iter().for_each(|pid| self.take_and_note(pid, wish));
    }

    /// Takes a snapshot of a process, and keeps what has become of it. That the process has ended first says nothing.
    pub(crate) fn take_and_note(&self, pid: Pid, wish: &SnapshotWish) {
        let result = self.take(pid, wish);
        let has_ended =
            matches!(result, Err(SnapshotError::Ended(_) | SnapshotError::NotRecorded(_)));
        if !has_ended {
            self.state().unasked.push(UnaskedSnapshot { pid: number_of(pid), result });
        }
    }

    /// Takes a snapshot of a process; waits until it is saved, and before that, as long as it would wait for the process,
    /// until another of that process is.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub(crate) fn take(
        &self,
        pid: Pid,
        wish: &SnapshotWish,
    ) -> Result<SavedSnapshot, SnapshotError> {
        let (number, _at_work) = (number_of(pid), self.begin_work());
        let is_asked = |state: &mut State| state.asked.contains(&number);
        let waiting = self.changed.wait_timeout_while(self.state(), wish.patience, is_asked);
        let (mut state, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        if !state.asked.insert(number) {
            return Err(SnapshotError::Busy(number));
        }
        drop(state);
        let result = self.ask(pid, wish);
        self.state().asked.remove(&number);
        self.changed.notify_all();
        result
    }

    fn ask(&self, pid: Pid, wish: &SnapshotWish) -> Result<SavedSnapshot, SnapshotError> {
        let number = number_of(pid);
        let mut state = self.state();
        let last = state.registered.values_mut().rev().find(|it| it.pid == pid && it.is_open());
        let registration = last.ok_or(SnapshotError::NotRecorded(number))?;
        let signal = registration.runtime().and_then(|runtime| runtime.waking_signal());
        let (subject, segment) = registration.subject(wish)?;
        let segment = segment.ok_or(SnapshotError::NotRecorded(number))?;
        let (sender, arrivals) = channel();
        let token = token(random()?);
        state.awaited.insert(token, sender);
        drop(state);
        segment.header().wish().ask(Taken { token, memory: wish.memory });
        let waking = Waking::new(pid, &segment, signal);
        let arrived = await_child(&arrivals, &segment, token, waking, wish.patience);
        self.state().awaited.remove(&token);
        let Arrived { connection, parent } = arrived?;
        match saving::save(&subject, &connection, parent, wish, Some(&segment)) {
            Err(SnapshotError::Broken { blocks: 0 })
                if segment.header().wish().answered().0 == Answer::NoChild =>
            {
                Err(SnapshotError::NoChild(number))
            }
            result => result,
        }
    }

    /// Somebody is at work as long as what is returned lives: the recorder does not leave before.
    pub(crate) fn begin_work(&self) -> AtWork<'_> {
        self.state().at_work += 1;
        AtWork(self)
    }

    /// Waits until what children tell is saved and who has asked is told, and says what has become of the snapshots that nobody waited for.
    pub(crate) fn finish(&self) -> Vec<UnaskedSnapshot> {
        let mut state = self.state();
        while state.at_work > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::take(&mut state.unasked)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work that the recorder waits for at its end.
pub(crate) struct AtWork<'a>(&'a Desk);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.leave_work();
    }
}

fn number_of(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get() as u32
}

fn random() -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes))
}

/// How often one looks whether the process can still come.
const LOOKS_APART: Duration = Duration::from_millis(20);

fn await_child(
    arrivals: &Receiver<Arrived>,
    segment: &Mapping,
    token: u64,
    mut waking: Waking<'_>,
    patience: Duration,
) -> Result<Arrived, SnapshotError> {
    /// For a child that was forked to say hello.
    const GREETING: Duration = Duration::from_secs(10);
    let (wish, pid) = (segment.header().wish(), number_of(waking.process));
    let (mut deadline, mut is_begun) = (Instant::now() + patience, false);
    loop {
        match arrivals.recv_timeout(LOOKS_APART) {
            Ok(arrived) => return Ok(arrived),
            Err(RecvTimeoutError::Disconnected) => return Err(SnapshotError::Ended(pid)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        match wish.answered().0 {
            Answer::NoChild => return Err(SnapshotError::NoChild(pid)),
            Answer::UnknownRuntime | Answer::Unsound => {
                return Err(SnapshotError::UnknownRuntime(pid));
            }
            Answer::Parallel => return Err(SnapshotError::Parallel(pid)),
            Answer::Begun if !is_begun => (deadline, is_begun) = (Instant::now() + GREETING, true),
            Answer::None | Answer::Begun => {}
        }
        if segment.header().stopped() && !is_begun {
            return Err(SnapshotError::Ended(pid));
        }
        if Instant::now() >= deadline && (is_begun || wish.withdraw(token)) {
            return Err(SnapshotError::Late { pid, patience, hindrance: waking.hindrance });
        }
        if !is_begun && wish.is_pending() {
            waking.go_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who has asked is still to be told: a recorder that left would take the answer with it.
    #[test]
    fn a_recorder_does_not_leave_while_somebody_is_at_work() {
        let looks = Arc::new(Requests::default());
        let desk = Arc::new(Desk::new(looks, Arc::new(Wakeup::new().unwrap())));
        let (sender, left) = channel();
        let at_work = desk.begin_work();
        let leaving = Arc::clone(&desk);
        let leaver = std::thread::spawn(move || sender.send(leaving.finish().len()).unwrap());
        let early = left.recv_timeout(Duration::from_millis(100));
        assert_eq!(early, Err(RecvTimeoutError::Timeout));
        drop(at_work);
        assert_eq!(left.recv(), Ok(0));
        leaver.join().unwrap();
        // Asking is work, too: of a process that is not there it is over at once.
        let pid = Pid::from_raw(i32::MAX).unwrap();
        let wish = SnapshotPlan::default().wish("asked for");
        assert!(matches!(desk.take(pid, &wish), Err(SnapshotError::NotRecorded(_))));
        assert_eq!(desk.finish().len(), 0);
    }
}
