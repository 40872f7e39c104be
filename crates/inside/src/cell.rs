//! Where a process keeps its one recording.
//!
//! It belongs to the process that has started it. A forked child finds another process's there, whose
//! threads it does not have and whose files are not its own: that is forgotten as it is, never dropped.

use std::mem::forget;
use std::process::id;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where a process keeps its one recording; what a fork has brought with it is forgotten, not dropped.
#[derive(Debug)]
pub struct RecordingCell<T>(Mutex<Option<Owned<T>>>);

/// A cell that only this thread looks at.
#[derive(Debug)]
pub struct CellGuard<'a, T>(MutexGuard<'a, Option<Owned<T>>>);

#[derive(Debug)]
struct Owned<T> {
    process: u32,
    recording: T,
}

impl<T> RecordingCell<T> {
    /// An empty one.
    pub const fn new() -> RecordingCell<T> {
        RecordingCell(Mutex::new(None))
    }

    /// Waits until no other thread starts or ends a recording.
    pub fn enter(&self) -> CellGuard<'_, T> {
        CellGuard(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes this process's recording, unless another thread starts or ends one now: for exit handlers,
    /// which do not wait for that.
    pub fn take_at_exit(&self) -> Option<T> {
        CellGuard(self.0.try_lock().ok()?).take()
    }
}

impl<T> Default for RecordingCell<T> {
    fn default() -> Self {
        RecordingCell::new()
    }
}

impl<T> CellGuard<'_, T> {
    /// This process's recording.
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref().filter(|it| it.process == id()).map(|it| &it.recording)
    }

    /// Takes this process's recording.
    pub fn take(&mut self) -> Option<T> {
        self.0.take_if(|it| it.process == id()).map(|it| it.recording)
    }

    /// Forgets a recording of the process that this one was forked from; whether there was one.
    pub fn forget_parents(&mut self) -> bool {
        let parents = self.0.take_if(|it| it.process != id());
        let found = parents.is_some();
        forget(parents);
        found
    }

    /// Puts this process's recording here, in place of none.
    pub fn put(&mut self, recording: T) {
        self.forget_parents();
        *self.0 = Some(Owned { process: id(), recording });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    #[test]
    fn what_is_another_processs_is_never_touched() {
        let cell = RecordingCell::new();
        *cell.0.lock().unwrap() = Some(Owned { process: id() + 1, recording: Bomb });
        let mut here = cell.enter();
        assert!(here.get().is_none() && here.take().is_none());
        assert!(here.forget_parents() && !here.forget_parents());
    }

    #[test]
    fn at_exit_nobody_waits() {
        let cell = RecordingCell::new();
        cell.enter().put(7);
        let here = cell.enter();
        assert_eq!((here.get(), cell.take_at_exit()), (Some(&7), None));
        drop(here);
        assert_eq!((cell.take_at_exit(), cell.take_at_exit()), (Some(7), None));
    }
}
