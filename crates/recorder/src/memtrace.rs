//! Has a program that has OCaml's Memtrace linked in write its own trace.
//!
//! There is no agent and no collector: the program reads two variables and does all the rest, in its
//! process only.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid,
};

use crate::collector::CollectorOptions;
use crate::launch::{Additions, LaunchError, Program, Untraceable, spawn};
use crate::output::Names;
use crate::output_error::OutputError;
use crate::recording::{CommandEnd, StartError};
use crate::runtimes::Language as _;
use crate::runtimes::ocaml::{OCaml, has_memtrace, memtrace_variables};

/// A program that traces itself.
#[derive(Debug)]
pub struct MemtraceRun {
    pid: Pid,
    called: String,
    names: Names,
    control: MemtraceControl,
}

/// For other threads.
#[derive(Clone, Debug)]
pub struct MemtraceControl(Arc<OwnedFd>);

impl MemtraceRun {
    /// Starts a command that will write its trace to `trace`, an absolute path. Of `options` the rate and
    /// the output matter.
    ///
    /// # Errors
    /// [`StartError`]; also for a program without Memtrace. The command has not run then.
    pub fn start(
        command: &[OsString],
        options: &CollectorOptions,
        trace: PathBuf,
    ) -> Result<MemtraceRun, StartError> {
        let program = Program::of(command, std::env::var_os("PATH").as_deref())?;
        let image = File::open(&program.image).map_err(StartError::System)?;
        if !has_memtrace(&image) {
            let (path, reason) = (program.image, Untraceable::NoMemtrace);
            return Err(LaunchError::Untraceable { path, reason }.into());
        }
        let names = options.names()?.ok_or(OutputError::NoFile)?;
        let called = program.called(command);
        names.check(&called)?;
        let per_word = options.rates.of(OCaml.name()).per_word();
        let additions = Additions::Variables(memtrace_variables(trace, per_word));
        let pid = spawn(&program, command, &additions)?;
        let process = pidfd_open(pid, PidfdFlags::empty());
        let process = process.map_err(|error| StartError::System(error.into()))?;
        let control = MemtraceControl(Arc::new(process));
        Ok(MemtraceRun { pid, called, names, control })
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get() as u32
    }

    /// Makes the file that the options have named for the trace.
    ///
    /// # Errors
    /// If there is one that must not be overwritten, or it cannot be made.
    pub fn create_trace(&mut self) -> Result<(PathBuf, File), OutputError> {
        self.names.create(&self.called, &self.pid().to_string())
    }

    /// A handle for other threads.
    pub fn control(&self) -> MemtraceControl {
        self.control.clone()
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// The system's.
    pub fn wait(&self) -> io::Result<CommandEnd> {
        loop {
            let (_, status) = match waitpid(Some(self.pid), WaitOptions::empty()) {
                Err(rustix::io::Errno::INTR) | Ok(None) => continue,
                other => other?.ok_or(io::ErrorKind::NotFound)?,
            };
            if let Some(code) = status.exit_status() {
                return Ok(CommandEnd::Exited(code));
            }
            if let Some(signal) = status.terminating_signal() {
                return Ok(CommandEnd::Killed(signal));
            }
        }
    }
}

impl MemtraceControl {
    /// Sends a signal to the program. One that has ended is no error.
    pub fn forward(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            // It fails when the program has ended.
            let _ = pidfd_send_signal(&*self.0, signal);
        }
    }
}
