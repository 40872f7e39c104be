//! A process that stands still: all its threads are stopped, and their registers can be read.
//!
//! ```text
//! seize and interrupt each thread of /proc/<pid>/task, until there is none that is not known
//!   -> wait until all have stopped -> registers, memory -> detach
//! ```
//!
//! The kernel knows a tracer by its thread: a [`Stopped`] stays on the one that made it. When that thread
//! ends, however it does, whatever is still stopped goes on.
//!
//! What the program was waiting for it goes on to wait for. The kernel sees to it where a system call can be
//! begun again; where it would fail as interrupted (`epoll_wait` and others), we do ([`registers`]).

mod call;
#[cfg_attr(not(target_arch = "x86_64"), path = "errand_elsewhere.rs")]
mod errand;
#[cfg(target_arch = "x86_64")]
mod held;
#[cfg(target_arch = "x86_64")]
mod hurry;
mod registers;
mod threads;

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::thread::gettid;

pub(crate) use errand::send;
#[cfg(target_arch = "x86_64")]
pub(crate) use held::{GENERAL, Held, Onward, handled_signals};
#[cfg(target_arch = "x86_64")]
pub(crate) use hurry::Hurry;
pub(crate) use registers::Registers;
#[cfg(target_arch = "x86_64")]
pub(crate) use threads::sleepers_first;
pub(crate) use threads::waiting_threads;
use threads::{is_gone, threads_of};

/// A thread that has not stopped by then is in the kernel for long.
const PATIENCE: Duration = Duration::from_millis(500);

/// For so long a thread that was too late is waited for, to be let go.
const LAST_PATIENCE: Duration = Duration::from_secs(10);

const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// More threads than these are not stopped.
const MOST_THREADS: usize = 1 << 16;

/// Why a process cannot be stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StopError {
    /// The kernel does not let us.
    #[error("the kernel does not permit to trace it")]
    NotPermitted,
    /// By a debugger, `strace`, or the like.
    #[error("it is traced by process {0} already")]
    Traced(u32),
    /// There is none any more.
    #[error("it has ended")]
    Gone,
    /// A thread waits within the kernel, and cannot be woken up.
    #[error("a thread could not be stopped")]
    Busy,
    /// Something else.
    #[error("it cannot be stopped: {0}")]
    System(#[from] io::Error),
}

/// A process whose threads stand still, until this is dropped.
#[derive(Debug)]
pub(crate) struct Stopped {
    pid: Pid,
    threads: Vec<Thread>,
    /// On one thread, as the kernel has it.
    stays: PhantomData<*const ()>,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    id: Pid,
    stop: Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// It is about to stop.
    Awaited,
    /// It stands still, and this signal is on its way to it; 0 is none.
    Stands(i32),
    /// It has ended.
    Gone,
}

impl Stopped {
    /// Stops all threads of a process, those that it starts meanwhile included.
    ///
    /// # Errors
    /// [`StopError`]; then all go on.
    pub(crate) fn stop(pid: Pid) -> Result<Stopped, StopError> {
        let mut stopped = Stopped { pid, threads: Vec::new(), stays: PhantomData };
        let until = Instant::now() + PATIENCE;
        while stopped.seize_new()? {
            stopped.wait(until)?;
        }
        let are_any = stopped.threads().next().is_some();
        are_any.then_some(stopped).ok_or(StopError::Gone)
    }

    /// Writes to the process's memory.
    ///
    /// # Errors
    /// If there is none, or the kernel does not let us.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        let path = format!("/proc/{}/mem", self.pid.as_raw_nonzero());
        File::options().write(true).open(path)?.write_all_at(bytes, address)
    }

    /// Stops one thread of a process; the others go on.
    ///
    /// # Errors
    /// [`StopError`]; then it goes on.
    #[cfg(target_arch = "x86_64")]
    fn stop_one(pid: Pid, thread: Pid) -> Result<Stopped, StopError> {
        let mut stopped = Stopped { pid, threads: Vec::new(), stays: PhantomData };
        stopped.seize(thread)?;
        stopped.wait(Instant::now() + PATIENCE)?;
        let is_any = stopped.threads().next().is_some();
        is_any.then_some(stopped).ok_or(StopError::Gone)
    }

    /// Whether no signal is on its way to a thread, all of which have stopped.
    #[cfg(target_arch = "x86_64")]
    fn are_undisturbed(&self) -> bool {
        self.threads.iter().all(|thread| thread.stop == Stop::Stands(0))
    }

    /// The threads that stand still.
    pub(crate) fn threads(&self) -> impl Iterator<Item = Pid> {
        let stands = |thread: &&Thread| matches!(thread.stop, Stop::Stands(_));
        self.threads.iter().filter(stands).map(|thread| thread.id)
    }

    /// What a thread has in its registers.
    pub(crate) fn registers(&self, thread: Pid) -> io::Result<Registers> {
        Registers::read(thread)
    }

    /// Has a stopped thread make one step, and tells where it is then. A signal that comes meanwhile is kept for it.
    ///
    /// # Errors
    /// If it has been killed.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn step(&mut self, id: Pid) -> Result<Registers, StopError> {
        call::step(id)?;
        let until = Instant::now() + PATIENCE;
        let thread = self.threads.iter_mut().find(|it| it.id == id).ok_or(StopError::Gone)?;
        let before = std::mem::replace(&mut thread.stop, Stop::Awaited);
        while !thread.look(self.pid) {
            if Instant::now() > until {
                return Err(StopError::Busy);
            }
            std::thread::sleep(Duration::from_micros(20));
        }
        match (thread.stop, before) {
            (Stop::Gone | Stop::Awaited, _) => return Err(StopError::Gone),
            // The step itself, and not another signal.
            (Stop::Stands(nix::libc::SIGTRAP), Stop::Stands(signal)) => {
                thread.stop = Stop::Stands(signal);
            }
            (Stop::Stands(0), Stop::Stands(signal)) => thread.stop = Stop::Stands(signal),
            _ => {}
        }
        Ok(Registers::read(id)?)
    }

    /// Whether there were any that were not known.
    fn seize_new(&mut self) -> Result<bool, StopError> {
        let before = self.threads.len();
        for id in threads_of(self.pid) {
            if self.threads.iter().all(|known| known.id != id) {
                self.seize(id)?;
            }
        }
        if self.threads.len() > MOST_THREADS {
            return Err(StopError::Busy);
        }
        Ok(self.threads.len() > before)
    }

    fn seize(&mut self, id: Pid) -> Result<(), StopError> {
        let seized = call::seize(id).and_then(|()| call::interrupt(id));
        let stop = match seized {
            Ok(()) => Stop::Awaited,
            Err(_) if is_gone(self.pid, id) => Stop::Gone,
            Err(error) => return Err(self.refusal(error)),
        };
        self.threads.push(Thread { id, stop });
        Ok(())
    }

    fn refusal(&self, error: io::Error) -> StopError {
        match threads::tracer_of(self.pid) {
            Some(tracer) if tracer != gettid() => {
                StopError::Traced(tracer.as_raw_nonzero().get() as u32)
            }
            _ if error.kind() == io::ErrorKind::PermissionDenied => StopError::NotPermitted,
            _ => StopError::System(error),
        }
    }

    fn wait(&mut self, until: Instant) -> Result<(), StopError> {
        let mut sleep = Duration::from_micros(20);
        loop {
            let pid = self.pid;
            let awaited = self.threads.iter_mut().filter(|thread| thread.stop == Stop::Awaited);
            let missing = awaited.filter_map(|thread| (!thread.look(pid)).then_some(())).count();
            if missing == 0 {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(StopError::Busy);
            }
            std::thread::sleep(sleep);
            sleep = (sleep * 2).min(LONGEST_SLEEP);
        }
    }
}

impl Thread {
    /// Whether it stands still now, or has ended.
    fn look(&mut self, process: Pid) -> bool {
        // Its end is for its parent to hear.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(self.id), options) {
            Ok(Some(status)) => {
                let signal = status.trapping_signal().or(status.stopping_signal()).unwrap_or(0);
                self.stop = Stop::Stands(pending(signal));
            }
            _ if is_gone(process, self.id) => self.stop = Stop::Gone,
            _ => return false,
        }
        true
    }
}

/// The signal that a thread was about to receive when it stopped; 0 if it has stopped because it had to, or
/// because its process was stopped.
fn pending(status: i32) -> i32 {
    let event = status >> 8;
    if event == 0 { status } else { 0 }
}

impl Stopped {
    /// Lets those go that stand still.
    fn release(&mut self) {
        for thread in &mut self.threads {
            if let Stop::Stands(signal) = thread.stop {
                // Calls that fail as interrupted are begun again.
                registers::mend(thread.id, signal);
                // It fails if the thread has been killed.
                let _ = call::detach(thread.id, signal);
                thread.stop = Stop::Gone;
            }
        }
    }
}

impl Drop for Stopped {
    /// A thread that was too late to stop still will, and would then stand until this thread of ours ends.
    fn drop(&mut self) {
        self.release();
        // Who is in the kernel for longer goes on when our thread ends.
        let _ = self.wait(Instant::now() + LAST_PATIENCE);
        self.release();
    }
}

#[cfg(test)]
mod tests;
