//! An event that a thread can wait for together with sockets and processes.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

/// Raised by any thread; stays raised until it is cleared.
#[derive(Debug)]
pub(crate) struct Wakeup(OwnedFd);

impl Wakeup {
    pub(crate) fn new() -> io::Result<Wakeup> {
        Ok(Wakeup(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(crate) fn raise(&self) {
        // It fails only when the counter is full: then it is raised.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Waits until it is raised; false when `patience` was not enough.
    pub(crate) fn wait(&self, patience: Option<Duration>) -> bool {
        let deadline = patience.map(|patience| Instant::now() + patience);
        loop {
            let left = deadline.map(|it| it.saturating_duration_since(Instant::now()));
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut polled, timeout.as_ref()) {
                Ok(0) | Err(Errno::INTR) if left.is_none_or(|left| !left.is_zero()) => {}
                Ok(count) => return count > 0,
                Err(_) => return false,
            }
        }
    }

    pub(crate) fn clear(&self) {
        // It fails only when it is not raised.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Wakeup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
