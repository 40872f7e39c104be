//! A tracker on a thread of its own.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lifetrace_inside::signals;

use super::{Event, Listener, in_tracker, is_in_tracker};

/// Events that may wait, if they are to be joined by a birth.
const MOST_BEFORE_BIRTH: usize = 1 << 16;

/// Events that may wait, if they are to be joined by another than a birth.
const MOST: usize = 4 * MOST_BEFORE_BIRTH;

/// How long an `exit` waits.
const PATIENCE: Duration = Duration::from_secs(1);

/// What has been heard and not been told.
#[derive(Debug)]
pub(super) struct Deferred {
    queue: Mutex<Queue>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<Event>,
    missed: u64,
    is_closed: bool,
    /// All has been told.
    is_done: bool,
}

/// Starts the thread that tells.
///
/// # Errors
/// When it can't be started.
pub(super) fn start(listener: Arc<Listener>) -> std::io::Result<()> {
    let tell = move || {
        let Some(deferred) = &listener.deferred else { return };
        while let Some(events) = deferred.take() {
            in_tracker(|| events.into_iter().for_each(|event| listener.tell(event)));
        }
        deferred.done();
        in_tracker(|| drop(listener));
    };
    let thread = std::thread::Builder::new().name("lifetrace-tracker".into());
    signals::without(|| thread.spawn(tell)).map(drop)
}

impl Deferred {
    pub(super) fn new() -> Deferred {
        Deferred { queue: Mutex::default(), news: Condvar::new() }
    }

    pub(super) fn put(&self, event: Event) {
        let mut queue = self.queue();
        let most = if matches!(event, Event::Born(..)) { MOST_BEFORE_BIRTH } else { MOST };
        if queue.events.len() >= most || queue.is_closed {
            queue.missed += 1;
            return;
        }
        queue.events.push_back(event);
        if queue.events.len() == 1 {
            self.news.notify_all();
        }
    }

    /// What there is to tell, as soon as there is something; `None` if that was all.
    fn take(&self) -> Option<VecDeque<Event>> {
        let is_idle = |queue: &mut Queue| queue.events.is_empty() && !queue.is_closed;
        let waited = self.news.wait_while(self.queue(), is_idle);
        let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
        let events = std::mem::take(&mut queue.events);
        (!events.is_empty()).then_some(events)
    }

    fn done(&self) {
        self.queue().is_done = true;
        self.news.notify_all();
    }

    /// Waits until all has been told, not for ever at an `exit`, and not in the tracker itself; says how
    /// many events were not.
    pub(super) fn close(&self, at_exit: bool) -> u64 {
        let mut queue = self.queue();
        queue.is_closed = true;
        self.news.notify_all();
        let deadline = at_exit.then(|| Instant::now() + PATIENCE);
        while !queue.is_done && !is_in_tracker() && deadline.is_none_or(|it| Instant::now() < it) {
            let waited = self.news.wait_timeout(queue, PATIENCE);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.missed
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
