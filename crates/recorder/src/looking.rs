//! When a process is looked through for blocks that are [lost](crate::lost): when it is about to end, or when its
//! recording does.
//!
//! ```text
//! Exiting, or stop ─▶ wanted ─▶ all rings drained ─▶ a thread looks ─▶ all rings drained ─▶ told to the trace
//! ```
//!
//! What was freed while the look was being prepared is known when the rings have been drained once more: nothing is
//! said of it.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lifetrace_transport::message::{Body, Message};
use rustix::process::Pid;

use crate::losses::Losses;
use crate::lost::{Found, LookError, look};
use crate::notice::Unlooked;
use crate::shm::ExitGate;
use crate::threads;
use crate::whereabouts::Whereabouts;

/// A recording that is to end waits no longer for a look.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came of it.
pub(crate) type Looked = Result<Found, Unlooked>;

/// The look through one session's process.
#[derive(Debug)]
pub(crate) struct Looking {
    blocks: Whereabouts,
    state: State,
    gate: ExitGate,
    /// When it was wanted because the recording ends.
    stopping: Option<Instant>,
}

#[derive(Debug)]
enum State {
    /// The process goes on.
    Idle,
    /// It is to be looked at now.
    Wanted,
    Running(JoinHandle<Result<Found, LookError>>),
    /// It is known what was found, but not yet what was freed meanwhile.
    Found(Looked),
    Over,
}

impl Looking {
    pub(crate) fn new(gate: ExitGate) -> Looking {
        Looking { blocks: Whereabouts::default(), state: State::Idle, gate, stopping: None }
    }

    pub(crate) fn take(&mut self, message: &Message<'_>) {
        self.blocks.take(message);
        if message.body == Body::Exiting {
            self.want();
        }
    }

    fn want(&mut self) {
        if matches!(self.state, State::Idle) {
            self.state = State::Wanted;
        }
    }

    /// The recording is to end; whether it has to wait.
    pub(crate) fn delays_stop(&mut self) -> bool {
        let since = *self.stopping.get_or_insert_with(Instant::now);
        self.want();
        self.is_under_way() && since.elapsed() < PATIENCE
    }

    /// Whether there is something that the trace may have to wait for.
    pub(crate) fn is_under_way(&self) -> bool {
        !matches!(self.state, State::Idle | State::Over)
    }

    /// Whether the process can be looked at no more before it has been, or is not going to be.
    pub(crate) fn give_up(&mut self) {
        if matches!(self.state, State::Idle | State::Wanted) {
            self.state = State::Over;
        }
    }

    /// To be called before the rings are drained.
    pub(crate) fn collect(&mut self) {
        if let State::Running(thread) = &self.state
            && thread.is_finished()
            && let State::Running(thread) = std::mem::replace(&mut self.state, State::Over)
        {
            // A panic has been printed.
            let found = thread.join().unwrap_or(Err(LookError::Failed));
            self.state = match found {
                Ok(found) => State::Found(Ok(found)),
                Err(error) => {
                    Unlooked::of(&error).map_or(State::Over, |why| State::Found(Err(why)))
                }
            };
        }
    }

    /// To be called when all rings have been drained: begins to look if it is time, or tells what was found.
    pub(crate) fn go_on(&mut self, process: Pid, losses: Losses) -> Option<Looked> {
        let looked = match std::mem::replace(&mut self.state, State::Over) {
            State::Wanted => {
                self.begin(process, losses);
                None
            }
            State::Found(looked) => Some(looked.map(|found| self.without_freed(found))),
            other => {
                self.state = other;
                None
            }
        };
        self.blocks.settle();
        looked
    }

    fn begin(&mut self, process: Pid, losses: Losses) {
        if self.blocks.is_empty() {
            self.gate.open();
            return;
        }
        if losses.hide_deaths() {
            self.gate.open();
            self.state = State::Found(Err(Unlooked::Losses));
            return;
        }
        let (candidates, gate) = (self.blocks.candidates(), self.gate.clone());
        let work = move || {
            let found = look(process, candidates, || gate.open());
            gate.open();
            found
        };
        match threads::spawn("look", work) {
            Ok(thread) => self.state = State::Running(thread),
            Err(_) => self.gate.open(),
        }
    }

    fn without_freed(&self, mut found: Found) -> Found {
        found.verdicts.retain(|(candidate, _)| self.blocks.has(candidate));
        found
    }
}
