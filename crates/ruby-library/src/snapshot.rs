//! A snapshot of this process's heap. \[UNSAFE\]
//!
//! The recorder's thread asks for it and writes the file; who waits for that has the machine's lock from time to time, and
//! forks the child then. Each request has a number, as several threads may wait at the same time.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lifetrace_recorder::{SavedSnapshot, SnapshotError, SnapshotPlan, SnapshotWish};
use lifetrace_ruby::linked;

use crate::flush::LONGEST_WAIT;
use crate::machine::Machine;
use crate::recording;

type Answer = Result<SavedSnapshot, SnapshotError>;

/// What is waited for, by number, and by which process: a forked child waits for nothing of its parent's.
static AWAITED: Mutex<BTreeMap<u64, (u32, Receiver<Answer>)>> = Mutex::new(BTreeMap::new());

static BEGUN: AtomicU64 = AtomicU64::new(0);

/// For so long the recorder waits until the fork.
const PATIENCE: Duration = Duration::from_secs(10);

/// Begins; no path is an empty one. The request's number.
///
/// # Errors
/// With what the user should read.
pub(crate) fn begin(path: &CStr, overwrite: bool) -> Result<u64, String> {
    let path = Some(PathBuf::from(OsStr::from_bytes(path.to_bytes())));
    let wish = SnapshotWish {
        cause: "by the program".to_owned(),
        path: path.filter(|path| !path.as_os_str().is_empty()),
        overwrite,
        memory: SnapshotPlan::default().memory,
        patience: PATIENCE,
    };
    let pid = process::id();
    let begun = recording::with_collector(|collector| collector.begin_snapshot(pid, wish));
    let begun = begun.ok_or("nothing is recorded here: Lifetrace.start comes first")?;
    let answers = begun.map_err(|error| error.to_string())?;
    let number = BEGUN.fetch_add(1, Ordering::Relaxed) + 1;
    requests().insert(number, (pid, answers));
    Ok(number)
}

/// What has come of a request; `None` if nothing has within [`LONGEST_WAIT`]. To be called with the machine's lock, by a method.
///
/// # Errors
/// With what the user should read.
pub(crate) fn awaited(machine: &Machine, number: u64) -> Result<Option<SavedSnapshot>, String> {
    // SAFETY: as this is to be called.
    unsafe { linked::take_snapshot() };
    let awaited = requests().remove(&number).filter(|(pid, _)| *pid == process::id());
    let (pid, answers) = awaited.ok_or("no snapshot was begun")?;
    match machine.without_lock(|| answers.recv_timeout(LONGEST_WAIT)) {
        Ok(answer) => answer.map(Some).map_err(|error| error.to_string()),
        Err(RecvTimeoutError::Timeout) => {
            requests().insert(number, (pid, answers));
            Ok(None)
        }
        Err(RecvTimeoutError::Disconnected) => Err("the recorder has ended".to_owned()),
    }
}

/// Nobody waits for a request any more.
pub(crate) fn forget(number: u64) {
    requests().remove(&number);
}

fn requests() -> MutexGuard<'static, BTreeMap<u64, (u32, Receiver<Answer>)>> {
    AWAITED.lock().unwrap_or_else(PoisonError::into_inner)
}
