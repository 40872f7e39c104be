//! What is noted of a process from outside, on its way to the process's trace.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::Bytes;
use lifetrace_transport::message::MonotonicNanos;

/// More than these wait for nobody: the session's thread is stuck, and its rings are full, too.
const MOST: usize = 1024;

/// A fact and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) time: MonotonicNanos,
    pub(crate) fact: Fact,
}

/// Notes of one process, written by the observer and taken by the receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Note>,
    peak: Option<Peak>,
    most_anonymous: Option<Bytes>,
    title: Option<Arc<str>>,
}

/// The most memory that a process is known to have had.
#[derive(Clone, Copy, Debug)]
struct Peak {
    bytes: Bytes,
    first_look: MonotonicNanos,
    last_look: MonotonicNanos,
}

/// What a process had at its highest is told if so small a part of its time, one in so many, has
/// passed since the last look.
pub(crate) const UNSEEN: u32 = 8;

impl Notes {
    /// Adds a note; its time is no earlier than the last one's.
    pub(crate) fn add(&self, note: Note) {
        let mut state = self.state();
        if state.waiting.len() < MOST {
            state.waiting.push(note);
        }
    }

    /// The kernel says now that the process never had more resident memory than this.
    pub(crate) fn note_peak(&self, now: MonotonicNanos, bytes: Bytes) {
        let mut state = self.state();
        let first_look = state.peak.map_or(now, |peak| peak.first_look);
        state.peak = Some(Peak { bytes, first_look, last_look: now });
    }

    /// The most resident memory that the process has had; `None` if too much of its time, which ends
    /// `now`, has passed unseen for that to be known.
    pub(crate) fn peak(&self, now: MonotonicNanos) -> Option<Bytes> {
        let Peak { bytes, first_look, last_look } = self.state().peak?;
        let (unseen, all) = (now.0.saturating_sub(last_look.0), now.0.saturating_sub(first_look.0));
        (unseen <= all / u64::from(UNSEEN)).then_some(bytes)
    }

    /// The process has so much memory now that is of no file.
    pub(crate) fn note_anonymous(&self, bytes: Bytes) {
        let mut state = self.state();
        state.most_anonymous = state.most_anonymous.max(Some(bytes));
    }

    /// The most that was [noted](Self::note_anonymous).
    pub(crate) fn most_anonymous(&self) -> Option<Bytes> {
        self.state().most_anonymous
    }

    /// The process calls itself this from now on.
    pub(crate) fn note_title(&self, title: Arc<str>) {
        self.state().title = Some(title);
    }

    /// The last title, once.
    pub(crate) fn take_title(&self) -> Option<Arc<str>> {
        self.state().title.take()
    }

    /// Takes all.
    pub(crate) fn take(&self) -> Vec<Note> {
        std::mem::take(&mut self.state().waiting)
    }

    /// Whether nobody will take any more.
    pub(crate) fn are_abandoned(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_told_if_most_of_the_time_was_seen() {
        let notes = Notes::default();
        assert_eq!(notes.peak(MonotonicNanos(0)), None);
        notes.note_peak(MonotonicNanos(100), Bytes(10));
        assert_eq!(notes.peak(MonotonicNanos(190)), None);
        notes.note_peak(MonotonicNanos(170), Bytes(20));
        assert_eq!(notes.peak(MonotonicNanos(180)), Some(Bytes(20)));
        assert_eq!(notes.peak(MonotonicNanos(181)), None);
    }
}
