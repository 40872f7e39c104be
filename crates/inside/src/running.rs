//! A recorder, in this process or in another, and the agent that speaks to it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use lifetrace_agent::guard::{self, Entry};
use lifetrace_agent::phase::{self, Start};
use lifetrace_recorder::{Collector, CollectorOptions, Outcome, Socket, on_thread_start, own_name};
use lifetrace_transport::handshake::SOCKET_VARIABLE;
use lifetrace_transport::message::Body;
use rustix::process::getpid;

use crate::error::StartError;
use crate::process::{self, Occasions};
use crate::signals;

/// A recorder, in this process or in another, and the agent that speaks to it. It is to be ended, not dropped, and
/// only by the process that has started it ([`crate::cell`]).
#[derive(Debug)]
pub struct Running {
    /// `None` if it is in another process.
    collector: Option<Collector>,
}

impl Running {
    /// Starts a recorder of this process alone and connects the agent to it: from now on the process is
    /// recorded.
    ///
    /// # Errors
    /// [`StartError`]; then nothing is recorded, and there is no trace.
    pub fn start(options: &CollectorOptions, occasions: Occasions) -> Result<Running, StartError> {
        options.check(&own_name())?;
        process::prepare(occasions);
        let start = phase::claim_restart().ok_or(StartError::Busy)?;
        match collect(options) {
            Ok((collector, path)) => connect(start, collector, path.as_bytes()),
            Err(error) => {
                start.finish(false);
                Err(error)
            }
        }
    }

    /// Connects the agent to the recorder in another process whose address is in the environment: that says
    /// what is sampled, writes the trace, and holds what has been said if this process is killed. `None` if
    /// there is none, or it does not want this process: then nothing is recorded.
    pub fn join(occasions: Occasions) -> Option<Running> {
        std::env::var_os(SOCKET_VARIABLE)?;
        process::prepare(occasions);
        let start = phase::claim_restart()?;
        let is_connected = start.connect().is_some();
        start.finish(is_connected);
        is_connected.then_some(Running { collector: None })
    }

    /// The recorder, if it is in this process.
    pub fn collector(&self) -> Option<&Collector> {
        self.collector.as_ref()
    }

    /// Ends it on both sides: what has been sampled is in the trace, which another process's recorder goes on
    /// to write. There is nothing to be said of such a trace.
    pub fn end(self) -> Outcome {
        let session = match guard::enter() {
            Entry::Recording(mut entered) => {
                entered.send(Body::Exiting);
                Some(entered.session())
            }
            Entry::Start(start) => {
                start.finish(false);
                None
            }
            Entry::Bypass => None,
        };
        phase::end();
        let Some(collector) = self.collector else { return Outcome::default() };
        let outcome = collector.finish();
        if let Some(session) = session {
            session.give_back_rings();
        }
        outcome
    }

    /// Ends it and removes its trace: there is nothing in it.
    pub fn abandon(self) {
        phase::end();
        remove_traces(&self.end());
    }
}

/// A recorder, and where it listens.
fn collect(options: &CollectorOptions) -> Result<(Collector, OsString), StartError> {
    let socket = Socket::bind_abstract().or_else(|_| Socket::bind());
    let socket = socket.map_err(StartError::Socket)?;
    let path = socket.path().as_os_str().to_owned();
    on_thread_start(guard::exclude_thread);
    let collector = signals::without(|| Collector::start(socket, options, Some(getpid())))?;
    Ok((collector, path))
}

fn connect(start: Start, collector: Collector, path: &[u8]) -> Result<Running, StartError> {
    let is_connected = start.connect_to(path).is_some();
    start.finish(is_connected);
    if is_connected {
        return Ok(Running { collector: Some(collector) });
    }
    let refusal = collector.finish().refusals.into_iter().next();
    let reason = refusal.map_or_else(|| "the recorder does not answer".into(), |it| it.reason);
    Err(StartError::Refused(reason))
}

fn remove_traces(outcome: &Outcome) {
    for trace in outcome.sessions.iter().filter(|trace| trace.path.is_file()) {
        // It is as good as empty; nothing depends on it.
        let _ = std::fs::remove_file(&trace.path);
    }
}
