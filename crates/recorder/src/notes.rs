//! What is noted of a process from outside, on its way to the process's trace.

use std::sync::{Arc, Mutex, PoisonError};

use lifetrace_trace::fact::Fact;
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
pub(crate) struct Notes(Arc<Mutex<Vec<Note>>>);

impl Notes {
    /// Adds a note; its time is no earlier than the last one's.
    pub(crate) fn add(&self, note: Note) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MOST {
            notes.push(note);
        }
    }

    /// Takes all.
    pub(crate) fn take(&self) -> Vec<Note> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether nobody will take any more.
    pub(crate) fn are_abandoned(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}
