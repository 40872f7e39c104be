//! When a process is looked through for blocks that are [lost](crate::lost): when it is about to end, when its
//! recording does, or when somebody wants it. In the first two cases it is also asked what of its mappings is
//! [resident](Seen), where mappings are heard.
//!
//! ```text
//! Exiting, or stop ─▶ wanted ─▶ all rings drained ─▶ a thread looks ─▶ all rings drained ─▶ told to the trace
//! ```
//!
//! What was freed while the look was being prepared is known when the rings have been drained once more: nothing is
//! said of it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lifetrace_transport::message::{Body, Message};
use rustix::process::Pid;

use crate::losses::Losses;
use crate::lost::{Candidate, Found, LookError, look};
use crate::mappings::Seen;
use crate::notice::Unlooked;
use crate::shm::ExitGate;
use crate::threads;
use crate::whereabouts::Whereabouts;

/// A recording that is to end waits no longer for a look.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came of it.
#[derive(Debug)]
pub(crate) struct Looked {
    /// `None` if there was nothing to look for.
    pub(crate) lost: Option<Result<Found, Unlooked>>,
    /// `None` if that is not wanted, or not known.
    pub(crate) mapped: Option<Seen>,
}

/// What is done by a thread of its own.
struct Task {
    process: Pid,
    /// What is looked for, if there is any.
    candidates: Option<Vec<Candidate>>,
    /// Deaths of some of them may be unknown.
    hides_deaths: bool,
    /// Whether it is asked what is resident.
    sees_mapped: bool,
    is_leaving: bool,
}

impl Task {
    /// `open` is called as soon as a process that is about to end may do so.
    fn run(self, open: &impl Fn()) -> Looked {
        let see = |is_now: bool| is_now.then(|| Seen::read(self.process)).flatten();
        // Who leaves waits until it has been looked through; who does not goes on, and the recording ends afterwards.
        let before = see(self.sees_mapped && self.is_leaving);
        let lost = match self.candidates {
            None => None,
            Some(_) if self.hides_deaths => Some(Err(Unlooked::Losses)),
            Some(candidates) => match look(self.process, candidates, open) {
                Ok(found) => Some(Ok(found)),
                Err(error) => Unlooked::of(&error).map(Err),
            },
        };
        let mapped = before.or_else(|| see(self.sees_mapped && !self.is_leaving));
        Looked { lost, mapped }
    }
}

impl Looked {
    const NOTHING: Looked = Looked { lost: None, mapped: None };
}

/// The look through one session's process.
#[derive(Debug)]
pub(crate) struct Looking {
    blocks: Whereabouts,
    hears_mappings: bool,
    state: State,
    gate: ExitGate,
    /// When it was wanted because the recording ends.
    stopping: Option<Instant>,
    /// The process has said that it is about to end: from then on it has less and less.
    is_leaving: bool,
}

/// Processes that somebody wants to be looked through now.
#[derive(Debug, Default)]
pub(crate) struct Requests(Mutex<Vec<Pid>>);

impl Requests {
    pub(crate) fn add(&self, process: Pid) {
        self.list().push(process);
    }

    pub(crate) fn take(&self) -> Vec<Pid> {
        std::mem::take(&mut *self.list())
    }

    fn list(&self) -> MutexGuard<'_, Vec<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
enum State {
    /// The process goes on.
    Idle,
    /// It is to be looked at now.
    Wanted,
    Running(JoinHandle<Looked>),
    /// It is known what was found, but not yet what was freed meanwhile.
    Found(Looked),
    Over,
}

impl Looking {
    pub(crate) fn new(gate: ExitGate, hears_mappings: bool) -> Looking {
        Looking {
            blocks: Whereabouts::default(),
            hears_mappings,
            state: State::Idle,
            gate,
            stopping: None,
            is_leaving: false,
        }
    }

    pub(crate) fn take(&mut self, message: &Message<'_>) {
        self.blocks.take(message);
        if message.body == Body::Exiting {
            self.leave();
        }
    }

    /// The process waits until it has been looked through. If it is being looked through anyway, that does, once it is over.
    fn leave(&mut self) {
        match self.state {
            State::Idle | State::Wanted => self.want(),
            State::Running(_) => {}
            State::Found(_) | State::Over => self.gate.open(),
        }
        self.is_leaving = true;
    }

    /// Has it looked through, if it is not leaving already.
    pub(crate) fn want(&mut self) {
        if matches!(self.state, State::Idle) && !self.is_leaving {
            self.state = State::Wanted;
        }
    }

    /// The recording is to end; whether it has to wait.
    pub(crate) fn delays_stop(&mut self) -> bool {
        if self.stopping.is_none() {
            self.want();
        }
        let since = *self.stopping.get_or_insert_with(Instant::now);
        self.is_under_way() && since.elapsed() < PATIENCE
    }

    /// Whether there is something that the trace may have to wait for.
    pub(crate) fn is_under_way(&self) -> bool {
        !matches!(self.state, State::Idle | State::Over)
    }

    /// The session is over: what has not begun will not.
    pub(crate) fn give_up(&mut self) {
        if matches!(self.state, State::Idle | State::Wanted) {
            self.state = State::Over;
        }
    }

    /// To be called before the rings are drained.
    pub(crate) fn collect(&mut self) {
        if let State::Running(thread) = &self.state
            && thread.is_finished()
            && let State::Running(thread) = std::mem::replace(&mut self.state, State::Idle)
        {
            if self.is_leaving {
                self.gate.open();
            }
            // A panic has been printed.
            let looked = thread.join().unwrap_or_else(|_| Looked {
                lost: Unlooked::of(&LookError::Failed).map(Err),
                ..Looked::NOTHING
            });
            self.state = match looked {
                Looked { lost: None, mapped: None } => State::Idle,
                looked => State::Found(looked),
            };
        }
    }

    /// To be called when all rings have been drained: begins to look if it is time, or tells what was found.
    pub(crate) fn go_on(&mut self, process: Pid, losses: Losses) -> Option<Looked> {
        let looked = match std::mem::replace(&mut self.state, State::Idle) {
            State::Wanted => {
                self.begin(process, losses);
                None
            }
            State::Found(Looked { lost, mapped }) => {
                let lost = lost.map(|lost| lost.map(|found| self.without_freed(found)));
                Some(Looked { lost, mapped })
            }
            other => {
                self.state = other;
                None
            }
        };
        self.blocks.settle();
        looked
    }

    fn begin(&mut self, process: Pid, losses: Losses) {
        let gate = self.is_leaving.then(|| self.gate.clone());
        let open = move || gate.iter().for_each(ExitGate::open);
        let is_last = self.is_leaving || self.stopping.is_some();
        let task = Task {
            process,
            candidates: (!self.blocks.is_empty()).then(|| self.blocks.candidates()),
            hides_deaths: losses.hide_deaths(),
            sees_mapped: self.hears_mappings && is_last,
            is_leaving: self.is_leaving,
        };
        if task.candidates.is_none() && !task.sees_mapped {
            return open();
        }
        let open_at_last = open.clone();
        let work = move || {
            let looked = task.run(&open);
            open();
            looked
        };
        match threads::spawn("look", work) {
            Ok(thread) => self.state = State::Running(thread),
            Err(_) => open_at_last(),
        }
    }

    fn without_freed(&self, mut found: Found) -> Found {
        found.verdicts.retain(|(candidate, _)| self.blocks.has(candidate));
        found
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::shm::Segment;
    use crate::shm::tests::SETTINGS;

    #[test]
    fn who_leaves_while_being_looked_through_waits_for_that() {
        let (segment, _file) = Segment::create(SETTINGS, &[]).unwrap();
        let mut looking = Looking::new(segment.exit_gate(), false);
        let (sender, over) = channel::<()>();
        let look = move || {
            over.recv().unwrap();
            Looked::NOTHING
        };
        looking.state = State::Running(std::thread::spawn(look));
        looking.leave();
        looking.collect();
        assert!(looking.is_under_way() && !segment.header().may_exit());
        sender.send(()).unwrap();
        while looking.is_under_way() {
            looking.collect();
            looking.go_on(rustix::process::getpid(), Losses::default());
            std::thread::yield_now();
        }
        assert!(segment.header().may_exit());
    }
}
