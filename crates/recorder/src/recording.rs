//! A command and the collector of its traces.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use lifetrace_trace::fact::Exit;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Signal, WaitId, WaitIdOptions, WaitOptions, getrlimit, kill_process,
    pidfd_open, pidfd_send_signal, setrlimit, waitid, waitpid,
};

use crate::collector::{Collector, CollectorError, CollectorOptions};
use crate::launch::{Additions, LaunchError, Program, spawn};
use crate::outcome::{Figures, Outcome};
use crate::output_error::OutputError;
use crate::preload;
use crate::requests::Recorded;
use crate::socket::Socket;
use crate::usage::Usage;
use crate::wakeup::Wakeup;

/// What to run, and how to trace it.
#[derive(Clone, Debug)]
pub struct Config {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// The content of the agent's shared library.
    pub preload: &'static [u8],
    /// How to trace, and where to.
    pub options: CollectorOptions,
}

/// Why nothing was recorded: the command has not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The command.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The traces.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The agent's library has no place to be loaded from.
    #[error("cannot unpack the agent: {0}")]
    Preload(io::Error),
    /// The agents' socket.
    #[error("cannot open a socket for agents: {0}")]
    Socket(io::Error),
    /// No threads or descriptors for the recorder.
    #[error("cannot start the recorder: {0}")]
    System(io::Error),
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It has not: the recording ended first, and the command runs on.
    Abandoned,
}

/// A running command whose processes are traced.
#[derive(Debug)]
pub struct Recording {
    pid: Pid,
    control: Control,
}

/// For other threads: signals for the command, and what becomes of the recording.
#[derive(Clone, Debug)]
pub struct Control {
    process: Arc<OwnedFd>,
    collector: Arc<Collector>,
    stopped: Arc<Wakeup>,
}

impl Recording {
    /// Starts the command with the agent and a collector for it. Raises this process's limit of open
    /// files as far as it may, once the command has its own.
    ///
    /// # Errors
    /// [`StartError`]; the command has not run then, or has been killed at its start.
    pub fn start(config: &Config) -> Result<Recording, StartError> {
        let program = Program::of(&config.command, std::env::var_os("PATH").as_deref())?;
        config.options.check(&program.called(&config.command))?;
        let preload = preload::unpack(config.preload).map_err(StartError::Preload)?;
        let socket = Socket::bind().map_err(StartError::Socket)?;
        let additions = Additions::Agent { preload, socket: socket.path().to_owned() };
        let pid = spawn(&program, &config.command, &additions)?;
        Recording::attend(pid, socket, &config.options).inspect_err(|_| kill(pid))
    }

    /// The command's process id.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get() as u32
    }

    /// A handle for other threads.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Waits for the command itself; its children may live on. The recording may end before, by its
    /// schedule or [`Control::stop`].
    pub fn wait_for_command(&self) -> CommandEnd {
        self.wait_for_command_or(self.control.collector.stopped())
    }

    /// Waits for the command though the recording may be over, until [`Control::stop`].
    pub fn accompany_command(&self) -> CommandEnd {
        self.wait_for_command_or(self.control.stopped.as_fd())
    }

    fn wait_for_command_or(&self, stopped: BorrowedFd<'_>) -> CommandEnd {
        let process = PollFd::new(&*self.control.process, PollFlags::IN);
        let mut polled = [process, PollFd::from_borrowed_fd(stopped, PollFlags::IN)];
        while poll(&mut polled, None) == Err(Errno::INTR) {}
        let end = self.end_of_command().unwrap_or(CommandEnd::Abandoned);
        if end != CommandEnd::Abandoned {
            // Until now whoever looked at the process could see for himself.
            let _ = waitpid(Some(self.pid), WaitOptions::NOHANG);
        }
        end
    }

    /// How the command has ended, which the trace is to say, too.
    fn end_of_command(&self) -> Option<CommandEnd> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.pid), options).ok()??;
        let (end, exit) = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => (CommandEnd::Exited(code), Exit::Status(code)),
            (None, Some(signal)) => (CommandEnd::Killed(signal), Exit::Signal(signal)),
            (None, None) => return None,
        };
        self.control.collector.command_has_ended(self.pid, exit, Usage::of(self.pid));
        Some(end)
    }

    /// Waits until no process is being traced and all traces are written, or until
    /// [`Control::stop`]; false when `deadline` came first.
    pub fn wait_for_others(&self, deadline: Option<Instant>) -> bool {
        self.control.collector.wait(deadline)
    }

    /// Number of traced processes that have not ended.
    pub fn living_processes(&self) -> usize {
        self.control.collector.living_processes()
    }

    /// Ends all sessions, waits until their traces are written, and tells about them, once.
    pub fn finish(&self) -> Outcome {
        self.control.collector.finish()
    }

    fn attend(
        pid: Pid,
        socket: Socket,
        options: &CollectorOptions,
    ) -> Result<Recording, StartError> {
        raise_file_limit();
        let process = pidfd_open(pid, PidfdFlags::empty());
        let process = process.map_err(|error| StartError::System(error.into()))?;
        let collector =
            Collector::start(socket, options, Some(pid)).map_err(|error| match error {
                CollectorError::Output(error) => StartError::Output(error),
                CollectorError::System(error) => StartError::System(error),
                CollectorError::Gone => StartError::System(Errno::SRCH.into()),
            })?;
        let stopped = Wakeup::new().map_err(StartError::System)?;
        let control = Control {
            process: Arc::new(process),
            collector: Arc::new(collector),
            stopped: Arc::new(stopped),
        };
        Ok(Recording { pid, control })
    }
}

impl Control {
    /// Of a process that has not been started here.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn of(process: OwnedFd, collector: Collector) -> io::Result<Control> {
        let stopped = Arc::new(Wakeup::new()?);
        Ok(Control { process: Arc::new(process), collector: Arc::new(collector), stopped })
    }

    /// The process.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn process(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// What serves its agent.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn collector(&self) -> &Collector {
        &self.collector
    }

    /// Sends a signal to the command. One that has ended, or a number that is no signal, is no
    /// error.
    pub fn forward(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            // It fails when the command has ended.
            let _ = pidfd_send_signal(&*self.process, signal);
        }
    }

    /// Ends the recording; the processes run on, untraced.
    pub fn stop(&self) {
        self.stopped.raise();
        self.collector.stop();
    }

    /// From now on nothing is sampled; what was sampled before is followed to its death.
    pub fn pause(&self) {
        self.collector.pause();
    }

    /// Undoes [`pause`](Self::pause).
    pub fn resume(&self) {
        self.collector.resume();
    }

    /// Takes a snapshot of each process with a heap of objects, one after the other.
    pub fn snapshot_all(&self, cause: &str) {
        self.collector.snapshot_all(cause);
    }

    /// What is being recorded, as [`Collector::recorded`].
    pub fn recorded(&self, watches: bool) -> Recorded {
        self.collector.recorded(watches)
    }

    /// How the recording goes.
    pub fn figures(&self) -> Figures {
        self.collector.figures()
    }
}

/// Raises this process's limit of open files as far as it may: a session needs seven descriptors, and there may be
/// thousands at a time.
pub fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Not being allowed to only means fewer sessions at a time.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn kill(pid: Pid) {
    // Both fail only when it is dead already.
    let _ = kill_process(pid, Signal::KILL);
    let _ = waitpid(Some(pid), WaitOptions::empty());
}

#[cfg(test)]
mod tests;
