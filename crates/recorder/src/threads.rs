//! The recorder's threads, all of which are started here.
//!
//! A recorder may run in the process that it records. Then its threads have to be distinguished from the
//! program's, before they do anything that could be sampled.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, JoinHandle};

static FIRST_OF_ALL: OnceLock<fn()> = OnceLock::new();

/// Has each thread that the recorder starts from now on do this first of all: for who records its own
/// process. Of several functions the first to come is taken.
pub fn on_thread_start(first_of_all: fn()) {
    FIRST_OF_ALL.get_or_init(|| first_of_all);
}

/// Starts a thread, and returns when it has begun its work if there is something to do before.
pub(crate) fn spawn<T: Send + 'static>(
    name: impl Into<String>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let builder = Builder::new().name(name.into());
    let Some(first_of_all) = FIRST_OF_ALL.get() else { return builder.spawn(work) };
    let (begun, wait) = sync_channel(1);
    let thread = builder.spawn(move || {
        first_of_all();
        // Who waits has not gone away.
        let _ = begun.send(());
        drop(begun);
        work()
    })?;
    let _ = wait.recv();
    Ok(thread)
}
