//! Which of a trace's allocations are the samples that an agent knows by its own numbers.
//!
//! The session's thread knows, of those that live. It is asked when all that was said before the fork has reached it, while
//! the child is still at work; of a session that has ended in the meantime, it has left what it knew.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use crate::queue::{Numbers, Work, WorkSender};
use crate::threads;

/// Where to ask.
#[derive(Clone, Debug)]
pub(crate) struct NumbersSource {
    /// To the session's thread, while there is one.
    pub(crate) queue: Weak<WorkSender>,
    /// What it has left.
    pub(crate) last: Arc<OnceLock<Numbers>>,
}

/// Messages are gathered for so long before the session's thread has them.
const GATHERING: Duration = Duration::from_millis(150);

/// For a thread that has much to do.
const PATIENCE: Duration = Duration::from_secs(30);

impl NumbersSource {
    /// Asks, in a thread of its own.
    pub(super) fn gather(&self) -> Receiver<Numbers> {
        let (sender, receiver) = channel();
        let source = self.clone();
        // Without a thread nothing comes.
        let _ = threads::spawn("numbers", move || {
            std::thread::sleep(GATHERING);
            // Who has asked may have failed.
            let _ = sender.send(source.ask());
        });
        receiver
    }

    fn ask(&self) -> Numbers {
        let (sender, answers) = channel();
        let is_asked = self.queue.upgrade().is_some_and(|queue| queue.send(Work::Look(sender)));
        let answer = is_asked.then(|| answers.recv_timeout(PATIENCE).ok()).flatten();
        answer.or_else(|| self.last.get().cloned()).unwrap_or_default()
    }
}
