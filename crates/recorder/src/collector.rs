//! Serves agents: everything but starting the command.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use lifetrace_transport::codec::MAX_LEN;
use lifetrace_transport::segment::{Settings, segment_bytes};
use rustix::process::{Pid, Resource, getrlimit, setrlimit};

use crate::admission::Admission;
use crate::clock::Anchor;
use crate::door::{Door, Socket};
use crate::outcome::Outcome;
use crate::output::{Names, OutputError, Template};
use crate::progress::Progress;
use crate::rate::Rate;
use crate::receive::Receiver;
use crate::symbolizer::Symbolizer;
use crate::wakeup::Wakeup;

/// A process that somebody has just started says hello within this time.
const LATECOMERS: Duration = Duration::from_millis(30);

const RINGS: u32 = 4;
const RING_BYTES: u32 = (2 * MAX_LEN as u32).next_power_of_two();
/// When everything is sampled, targets wait for us: larger rings save them some of that.
const EXACT_RING_BYTES: u32 = 4 << 20;

/// How to trace, and where to.
#[derive(Clone, Debug)]
pub struct CollectorOptions {
    /// Template of the traces' names; see the placeholders of
    /// [`DEFAULT_TEMPLATE`](crate::DEFAULT_TEMPLATE).
    pub output: std::ffi::OsString,
    /// Whether existing files may be overwritten.
    pub overwrite: bool,
    /// How densely to sample.
    pub rate: Rate,
    /// Of the samplers' generators.
    pub seed: u64,
    /// Whether the children of traced processes are traced.
    pub follow_children: bool,
}

/// A running collector. It goes on until [`finish`](Self::finish).
#[derive(Debug)]
pub struct Collector {
    progress: Arc<Progress>,
    stop: Arc<Wakeup>,
    follows_children: bool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl CollectorOptions {
    /// Checks the template, and whether a trace of `executable` could be written.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn check(&self, executable: &Path) -> Result<(), OutputError> {
        self.names()?.check(executable)
    }

    fn names(&self) -> Result<Names, OutputError> {
        Ok(Names::new(Template::parse(&self.output)?, self.overwrite))
    }

    fn settings(&self) -> Settings {
        Settings {
            ring_count: RINGS,
            ring_bytes: if self.rate.is_exact() { EXACT_RING_BYTES } else { RING_BYTES },
            rate_per_word: self.rate.per_word(),
            seed: self.seed,
            follow_children: self.follow_children.into(),
            recorder_pid: std::process::id(),
        }
    }
}

/// Why a collector could not be started.
#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    /// The template.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// No threads or descriptors.
    #[error("cannot start the recorder: {0}")]
    System(#[from] io::Error),
}

impl Collector {
    /// Serves the agents that come to `socket`; if children are not followed, `only` this
    /// process's.
    ///
    /// Raises this process's limit of open files as far as it may.
    ///
    /// # Errors
    /// [`CollectorError`].
    pub fn start(
        socket: Socket,
        options: &CollectorOptions,
        only: Option<Pid>,
    ) -> Result<Collector, CollectorError> {
        raise_file_limit();
        let progress = Arc::new(Progress::default());
        let stop = Arc::new(Wakeup::new()?);
        let (receiver, handle) = Receiver::new(Arc::clone(&stop))?;
        let mut admission = Admission {
            settings: options.settings(),
            names: options.names()?,
            only: only.filter(|_| !options.follow_children),
            anchor: Anchor::now(),
            symbolizer: Arc::new(Symbolizer::start()?),
            progress: Arc::clone(&progress),
            receiver: handle,
        };
        let bytes = segment_bytes(&admission.settings) as u64;
        let door = Door::new(socket, Arc::clone(&stop));
        let serve = move || door.serve(|pid| Some((admission.admit(pid)?, bytes)));
        let threads = Mutex::new(vec![
            Builder::new().name("receiver".into()).spawn(move || receiver.run())?,
            Builder::new().name("door".into()).spawn(serve)?,
        ]);
        let follows_children = options.follow_children;
        Ok(Collector { progress, stop, follows_children, threads })
    }

    /// Waits until no process is being traced and all traces are written, or until
    /// [`stop`](Self::stop); false when `deadline` came first.
    pub fn wait(&self, deadline: Option<Instant>) -> bool {
        loop {
            if !self.progress.wait_for_silence(deadline) {
                return false;
            }
            if self.progress.stopping() || !self.follows_children {
                return true;
            }
            std::thread::sleep(LATECOMERS);
            if self.progress.live_count() == 0 {
                return true;
            }
        }
    }

    /// Number of traced processes that have not ended.
    pub fn living_processes(&self) -> usize {
        self.progress.living_processes()
    }

    /// Ends all sessions and lets no new ones in. Returns at once.
    pub fn stop(&self) {
        self.progress.stop();
        self.stop.raise();
    }

    /// Readable after [`stop`](Self::stop).
    pub(crate) fn stopped(&self) -> BorrowedFd<'_> {
        self.stop.as_fd()
    }

    /// Ends all sessions, waits until their traces are written, and tells about them.
    pub fn finish(&self) -> Outcome {
        self.stop();
        self.join();
        self.progress.wait_for_all();
        self.progress.outcome()
    }

    fn join(&self) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A panic has been printed, and the sessions' own threads go on.
            let _ = thread.join();
        }
    }
}

/// So that the socket goes away with the collector.
impl Drop for Collector {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}

/// A session needs four descriptors; there may be thousands at a time.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Not being allowed to only means fewer sessions at a time.
    let _ = setrlimit(Resource::Nofile, limit);
}

#[cfg(test)]
mod tests;
