//! A process that is being recorded since somebody has asked for it.

use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::detaching;
use super::error::AttachError;
use super::joining::{Joined, Joining};
use super::terms::{AttachConfig, AttachmentEnd, Pauses};
use crate::outcome::Outcome;
use crate::recording::{Control, raise_file_limit};
use crate::socket::Socket;

/// A process that is being recorded.
#[derive(Debug)]
pub struct Attachment {
    pid: Pid,
    control: Control,
    pauses: Pauses,
    is_filtered: bool,
}

impl Attachment {
    /// Attaches to a process: it is sampled when this returns.
    ///
    /// # Errors
    /// [`AttachError`]; then nothing is recorded, and the process is as it was, but that the agent's library may have been
    /// loaded, which does nothing then.
    pub fn start(config: &AttachConfig) -> Result<Attachment, AttachError> {
        let raw = i32::try_from(config.pid).ok().and_then(Pid::from_raw);
        let pid = raw.ok_or(AttachError::NoProcess)?;
        let joining = Joining::look(pid, config)?;
        let is_filtered = joining.is_filtered();
        raise_file_limit();
        let process = open(pid)?;
        let socket = Socket::bind().map_err(AttachError::Recorder)?;
        let Joined { collector, pauses } = joining.join(socket)?;
        let control = Control::of(process, collector).map_err(AttachError::Recorder)?;
        Ok(Attachment { pid, control, pauses, is_filtered })
    }

    /// The process's number.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get() as u32
    }

    /// A handle for other threads.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// What the process has felt.
    pub fn pauses(&self) -> Pauses {
        self.pauses
    }

    /// Whether it filters its system calls, so that what is done in it may be forbidden.
    pub fn is_filtered(&self) -> bool {
        self.is_filtered
    }

    /// Waits for the end of the process, or of the recording.
    pub fn wait(&self) -> AttachmentEnd {
        let process = PollFd::from_borrowed_fd(self.control.process(), PollFlags::IN);
        let stopped = self.control.collector().stopped();
        let mut polled = [process, PollFd::from_borrowed_fd(stopped, PollFlags::IN)];
        while poll(&mut polled, None) == Err(Errno::INTR) {}
        match polled[0].revents().is_empty() {
            true => AttachmentEnd::Stopped,
            false => AttachmentEnd::Ended,
        }
    }

    /// Waits until no process is being recorded and all traces are written, or until [`Control::stop`]; false when
    /// `deadline` came first.
    pub fn wait_for_others(&self, deadline: Option<Instant>) -> bool {
        self.control.collector().wait(deadline)
    }

    /// Number of recorded processes that have not ended.
    pub fn living_processes(&self) -> usize {
        self.control.collector().living_processes()
    }

    /// Ends all sessions, waits until their traces are written, and then puts back what has been changed in the process
    /// and in those that it has forked.
    pub fn finish(&self) -> (Outcome, Result<(), AttachError>) {
        let outcome = self.control.collector().finish();
        let detached = detaching::take_back_everywhere(self.pid);
        (outcome, detached)
    }
}

fn open(pid: Pid) -> Result<OwnedFd, AttachError> {
    pidfd_open(pid, PidfdFlags::empty()).map_err(|error| match error {
        Errno::SRCH => AttachError::NoProcess,
        error => AttachError::System(error.into()),
    })
}
