//! What the kernel knows of the traced processes: their memory, page faults, threads' names, titles, and
//! children that are not traced.
//!
//! ```text
//! receiver ── a process, its threads ──> observer thread ── notes, with their times ──> receiver
//! ```
//!
//! The observer is a thread of its own, because a look at a large process can take the kernel a
//! second. A process in which nothing happens is looked at less and less often, down to one look in
//! [`SLEEPIEST`] intervals, but while it is young so often that its [peak](Notes::peak) is known
//! whenever it ends; one at which a look takes long, so rarely that looking takes less than a
//! hundredth of a processor. A process leaves the list when its session lets go of its [`Notes`].

mod children;
mod counters;
mod names;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use lifetrace_trace::fact::Fact;
use lifetrace_transport::message::ThreadId;
use rustix::process::Pid;
use rustix::time::{ClockId, clock_gettime};

use crate::clock::monotonic_now;
use crate::image::Image;
use crate::notes::{Note, Notes, UNSEEN};
use crate::progress::Progress;
use crate::threads;
use crate::title::Title;
pub(crate) use counters::kilobytes;

use children::Children;
use counters::ProcessFigures;
use names::ThreadNames;

/// The longest time between two looks at a process that sleeps, in intervals.
const SLEEPIEST: u32 = 16;

/// One part in so many of the time that a process has been watched may pass until the next look:
/// half of what may be [unseen](crate::notes::UNSEEN), since a look may come late.
const YOUNG: u32 = 2 * UNSEEN;

/// A look may take this part of the time until the next, of a processor's: on a busy machine it may wait long
/// for its turn, and the next comes no later for that.
const BUDGET: u32 = 100;

/// So soon a process is looked at again when it has begun: most have got their title by then.
const FIRST: Duration = Duration::from_millis(20);

/// A process in which nothing seems to happen may have got another title or a child all the same.
const ASIDE: Duration = Duration::from_secs(1);

/// How often threads are looked at when nobody wants counters.
const NAMES_ONLY: Duration = Duration::from_millis(500);

/// Threads that may wait for their names to be read; more have none.
const MOST_ERRANDS: usize = 4096;

/// For the sessions.
#[derive(Clone, Debug)]
pub(crate) struct ObserverHandle {
    errands: Sender<Errand>,
    waiting: Arc<AtomicUsize>,
    wants_counters: bool,
}

#[derive(Debug)]
enum Errand {
    Watch(Image, Title, Notes),
    ThreadStarted { pid: Pid, thread: ThreadId, os_id: u32 },
    ThreadEnded { pid: Pid, thread: ThreadId },
}

impl ObserverHandle {
    /// Starts an observer that reads counters every `interval`, if any are wanted, and tells `progress`, if
    /// there is one, of children that are not traced. It ends with its last handle.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start(
        interval: Option<Duration>,
        progress: Option<Arc<Progress>>,
    ) -> io::Result<ObserverHandle> {
        let (errands, inbox) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let observer = Observer {
            wants_counters: interval.is_some(),
            interval: interval.unwrap_or(NAMES_ONLY),
            waiting: Arc::clone(&waiting),
            watched: Vec::new(),
            progress,
        };
        threads::spawn("observer", move || observer.run(&inbox))?;
        Ok(ObserverHandle { errands, waiting, wants_counters: interval.is_some() })
    }

    /// Whether anybody wants to know of the processes' memory.
    pub(crate) fn wants_counters(&self) -> bool {
        self.wants_counters
    }

    /// Begins to look at a process, as long as it runs this program.
    pub(crate) fn watch(&self, image: Image, title: Title, notes: Notes) {
        self.send(Errand::Watch(image, title, notes));
    }

    /// A thread has sent its first message.
    pub(crate) fn thread_started(&self, pid: Pid, thread: ThreadId, os_id: u32) {
        self.send_if_there_is_time(Errand::ThreadStarted { pid, thread, os_id });
    }

    /// A thread is gone.
    pub(crate) fn thread_ended(&self, pid: Pid, thread: ThreadId) {
        self.send_if_there_is_time(Errand::ThreadEnded { pid, thread });
    }

    fn send_if_there_is_time(&self, errand: Errand) {
        if self.waiting.load(Ordering::Relaxed) < MOST_ERRANDS {
            self.send(errand);
        }
    }

    fn send(&self, errand: Errand) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // Without an observer there are no notes.
        let _ = self.errands.send(errand);
    }
}

struct Observer {
    wants_counters: bool,
    interval: Duration,
    waiting: Arc<AtomicUsize>,
    watched: Vec<Watched>,
    progress: Option<Arc<Progress>>,
}

/// A process under observation.
struct Watched {
    image: Image,
    notes: Notes,
    figures: Option<ProcessFigures>,
    names: ThreadNames,
    title: Title,
    children: Children,
    /// Whether it has not been looked at yet.
    is_new: bool,
    /// When to look at these though nothing seems to happen.
    aside: Instant,
    since: Instant,
    due: Instant,
    /// The time to the next look, in intervals.
    step: u32,
}

impl Observer {
    fn run(mut self, inbox: &Receiver<Errand>) {
        loop {
            match inbox.recv_timeout(self.patience()) {
                Ok(errand) => {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                    self.take(errand);
                }
                Err(RecvTimeoutError::Timeout) => self.look(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn patience(&self) -> Duration {
        const FOREVER: Duration = Duration::from_secs(3600);
        let due = self.watched.iter().map(|watched| watched.due).min();
        due.map_or(FOREVER, |due| due.saturating_duration_since(Instant::now()))
    }

    fn take(&mut self, errand: Errand) {
        match errand {
            Errand::Watch(image, title, notes) => {
                let pid = image.pid();
                let figures = self.wants_counters.then(|| ProcessFigures::open(pid)).flatten();
                let names = ThreadNames::new(pid);
                let since = Instant::now();
                self.watched.push(Watched {
                    image,
                    notes,
                    figures,
                    names,
                    title,
                    children: Children::of(pid),
                    is_new: true,
                    aside: since,
                    since,
                    due: since,
                    step: 1,
                });
            }
            Errand::ThreadStarted { pid, thread, os_id } => {
                if let Some(watched) = self.find(pid) {
                    let name = watched.names.meet(thread, os_id);
                    watched.note(name.map(Fact::ThreadName));
                }
            }
            Errand::ThreadEnded { pid, thread } => {
                if let Some(watched) = self.find(pid) {
                    watched.names.forget(thread);
                }
            }
        }
        // A flood of errands does not keep us from looking.
        if self.patience().is_zero() {
            self.look();
        }
    }

    /// A process that has executed another program is here twice; the later one speaks.
    fn find(&mut self, pid: Pid) -> Option<&mut Watched> {
        self.watched.iter_mut().rev().find(|watched| watched.image.pid() == pid)
    }

    /// Looks at all whose time has come. Those that are nearly due come along, so that there are
    /// few wake-ups.
    fn look(&mut self) {
        self.watched.retain(|watched| !watched.notes.are_abandoned());
        let interval = self.interval;
        let soon = Instant::now() + interval / 4;
        for watched in self.watched.iter_mut().filter(|watched| watched.due <= soon) {
            watched.look(interval, self.progress.as_deref());
        }
    }
}

impl Watched {
    fn look(&mut self, interval: Duration, progress: Option<&Progress>) {
        let (begun, worked) = (Instant::now(), processor_time());
        let moved = self.look_at_figures();
        if moved || begun >= self.aside || self.children.are_unsettled() {
            self.look_aside(progress);
            self.aside = begun + ASIDE;
        }
        if moved {
            let name = self.names.look_again();
            self.note(name.map(Fact::ThreadName));
        }
        self.step = if moved { 1 } else { (self.step * 2).min(SLEEPIEST) };
        let cost = processor_time().saturating_sub(worked);
        let rest = match std::mem::take(&mut self.is_new) {
            true => interval.min(FIRST),
            false => rest(interval, self.step, begun - self.since),
        };
        self.due = begun + rest.max(cost * BUDGET);
    }

    /// Whether anything has changed since the last time, as far as can be told.
    fn look_at_figures(&mut self) -> bool {
        let Some(figures) = &mut self.figures else { return true };
        let Some((counters, moved)) = figures.read() else { return false };
        // They may be those of another program, which has come by now.
        if self.image.is_gone() {
            return false;
        }
        if let Some(peak) = figures.peak() {
            self.notes.note_peak(monotonic_now(), peak);
        }
        if let Some(anonymous) = figures.anonymous() {
            self.notes.note_anonymous(anonymous);
        }
        self.note(Some(Fact::Counters(counters)));
        moved
    }

    /// At what is not in the figures.
    fn look_aside(&mut self, progress: Option<&Progress>) {
        if let Some(progress) = progress {
            self.children.look(progress);
        }
        if let Some(title) = self.title.look_again()
            && !self.image.is_gone()
        {
            self.notes.note_title(title);
        }
    }

    fn note(&self, fact: Option<Fact>) {
        if let Some(fact) = fact.filter(|_| !self.image.is_gone()) {
            self.notes.add(Note { time: monotonic_now(), fact });
        }
    }
}

/// What this thread has had of a processor so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// The time to the next look at a process that has been watched for so long.
fn rest(interval: Duration, step: u32, watched: Duration) -> Duration {
    (interval * step).min(interval.max(watched / YOUNG))
}

#[cfg(test)]
mod tests;
