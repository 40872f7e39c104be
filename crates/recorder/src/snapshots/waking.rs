//! A process that is asked for a snapshot and does not see that. Where its runtime looks up at a signal it is sent that.
//! Else, if it waits in the kernel, one of its threads is sent to take the snapshot ([`stop::send`](crate::stop)); if it
//! computes, it is nudged.

use std::fmt;
use std::time::{Duration, Instant};

use lifetrace_transport::errand::{Errand, Outcome, Word};
use rustix::process::{Pid, Signal, kill_process};

use crate::shm::Mapping;
use crate::stop::{StopError, Stopped, send, waiting_threads};

/// A process that runs is given so long to see the wish by itself; then it is tried again and again, more and more rarely.
const FIRST: Duration = Duration::from_millis(60);
const RAREST: Duration = Duration::from_secs(1);

/// For how long a process is silent before it is sent a signal, each time.
const SILENCE: Duration = Duration::from_millis(200);

/// For how long a thread is waited for before another is sent.
const ERRAND: Duration = Duration::from_millis(200);

/// More threads are not sent at a time.
const MOST_THREADS: usize = 64;

/// Why no thread could take a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// Nobody was asked yet.
    Early,
    /// It was sent a signal, and has not looked up.
    Deaf,
    /// The agent has said nothing of errands.
    NotOffered,
    /// No thread waits.
    Runs,
    /// Threads wait, but not as C code of OCaml's does.
    Within,
    /// Threads wait, and have not said where they are.
    Unknown,
    /// It has announced a sandbox.
    Sandbox,
    /// A thread is on its way, and waits for the runtime.
    OnItsWay,
    /// The kernel does not let us trace it.
    NotPermitted,
    /// Another process traces it.
    Traced(u32),
    /// It does not stop.
    Stuck,
}

impl fmt::Display for Hindrance {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self {
            Hindrance::Early => "it was given too little time",
            Hindrance::Deaf => {
                "it waits for something and is not woken by a signal (Ruby 3.2 and later, where the main thread sleeps), is \
                 in the code of a C extension, or has something else done at SIGURG"
            }
            Hindrance::NotOffered if cfg!(target_arch = "x86_64") => {
                "it waits, or does not allocate, and its agent has not said how to have it do something meanwhile"
            }
            Hindrance::NotOffered => {
                "it waits, or does not allocate; a thread that waits can be asked on x86-64 alone"
            }
            Hindrance::Runs => {
                "it runs all the time, and neither allocates nor waits, nor has it come to a place where OCaml 4.13 and \
                 4.14 look up (versions before and after do not)"
            }
            Hindrance::Within => {
                "its threads wait, but in code that has not left OCaml's runtime to others, so the heap may not be whole"
            }
            Hindrance::Unknown => {
                "its threads wait, and have done so since before it was noted which of them have left OCaml's runtime to \
                 others; once one has waited for something else it can be asked"
            }
            Hindrance::Sandbox => {
                "it waits, and is in a sandbox, where what a snapshot needs may be forbidden"
            }
            Hindrance::OnItsWay => {
                "one thread runs all the time and keeps the runtime to itself, without allocating"
            }
            Hindrance::NotPermitted => {
                "it waits, or does not allocate, and the kernel does not permit to trace it \
                 (kernel.yama.ptrace_scope, another user's, or a container without CAP_SYS_PTRACE)"
            }
            Hindrance::Traced(tracer) => {
                return write!(
                    to,
                    "it waits, or does not allocate, and process {tracer} traces it, so we cannot"
                );
            }
            Hindrance::Stuck => "a thread of it waits in the kernel and cannot be interrupted",
        };
        to.write_str(why)
    }
}

/// The attempts.
#[derive(Debug)]
pub(super) struct Waking<'a> {
    pub(super) process: Pid,
    segment: &'a Mapping,
    /// If its runtime has one at which it looks up.
    signal: Option<Signal>,
    next: Instant,
    interval: Duration,
    pub(super) hindrance: Hindrance,
}

impl<'a> Waking<'a> {
    pub(super) fn new(process: Pid, segment: &'a Mapping, signal: Option<Signal>) -> Waking<'a> {
        let interval = if signal.is_some() { SILENCE } else { FIRST };
        let (next, hindrance) = (Instant::now() + interval, Hindrance::Early);
        Waking { process, segment, signal, next, interval, hindrance }
    }

    /// Sends a signal or threads, if it is time.
    pub(super) fn go_on(&mut self) {
        if Instant::now() < self.next {
            return;
        }
        if let Some(signal) = self.signal {
            // One that has ended is found out otherwise.
            let _ = kill_process(self.process, signal);
            self.hindrance = Hindrance::Deaf;
        } else {
            self.hindrance = self.send_one_after_the_other();
            if matches!(self.hindrance, Hindrance::Runs | Hindrance::Within | Hindrance::Unknown) {
                // If that is not possible it is as it was.
                let _ = self.nudge();
            }
            self.interval = (self.interval * 2).min(RAREST);
        }
        self.next = Instant::now() + self.interval;
    }

    fn errand(&self) -> &Errand {
        self.segment.header().errand()
    }

    fn send_one_after_the_other(&self) -> Hindrance {
        let mut worst = Hindrance::Runs;
        if !self.errand().is_offered() {
            return Hindrance::NotOffered;
        }
        for thread in waiting_threads(self.process).into_iter().take(MOST_THREADS) {
            match self.send(thread) {
                Ok(None) => {}
                Ok(Some(Hindrance::Within)) if worst == Hindrance::Runs => {
                    worst = Hindrance::Within
                }
                Ok(Some(Hindrance::Within)) => {}
                Ok(Some(Hindrance::Unknown)) => worst = Hindrance::Unknown,
                Ok(Some(end)) => return end,
                Err(error) => return of_stop(&error),
            }
            if !self.segment.header().wish().is_pending() {
                return Hindrance::Early;
            }
        }
        worst
    }

    /// Has a program that runs come to where it looks for wishes.
    fn nudge(&self) -> Result<(), StopError> {
        let words: Vec<Word> = self.errand().nudge().collect();
        if !words.is_empty() {
            let stopped = Stopped::stop(self.process)?;
            for Word { address, value, bytes } in words {
                let value = value.to_le_bytes();
                stopped.write(address, &value[..value.len().min(bytes as usize)])?;
            }
        }
        Ok(())
    }

    /// What has come of it; `None` if the thread does not wait.
    fn send(&self, thread: Pid) -> Result<Option<Hindrance>, StopError> {
        let Some(way) = self.errand().begin() else { return Ok(Some(Hindrance::OnItsWay)) };
        let is_sent = send(self.process, thread, way);
        if !matches!(is_sent, Ok(true)) {
            self.errand().abandon();
        }
        Ok(is_sent?.then(|| self.await_end()))
    }

    fn await_end(&self) -> Hindrance {
        let until = Instant::now() + ERRAND;
        loop {
            match self.errand().outcome() {
                Outcome::Pending if Instant::now() < until => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Outcome::Pending => return Hindrance::OnItsWay,
                Outcome::Done => return Hindrance::Early,
                Outcome::Within => return Hindrance::Within,
                Outcome::Unknown => return Hindrance::Unknown,
                Outcome::Sandbox => return Hindrance::Sandbox,
            }
        }
    }
}

fn of_stop(error: &StopError) -> Hindrance {
    match error {
        StopError::NotPermitted => Hindrance::NotPermitted,
        StopError::Traced(tracer) => Hindrance::Traced(*tracer),
        StopError::Gone | StopError::Busy | StopError::System(_) => Hindrance::Stuck,
    }
}
