//! Snapshots of this process's heap.
//!
//! The recorder's thread asks for one and writes the file. Who waits for that takes the runtime from time to time, and
//! forks the child then. Each request has a number, as several threads may wait at the same time.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::absolute;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lifetrace_inside::preload;
use lifetrace_ocaml::linked;
use lifetrace_recorder::{SavedSnapshot, SnapshotError, SnapshotPlan, SnapshotWish};

use crate::recording;

type Answer = Result<SavedSnapshot, SnapshotError>;

/// What has become of a request.
#[derive(Debug)]
enum Request {
    Awaited(Receiver<Answer>),
    Done(Result<SavedSnapshot, String>),
}

/// By number. A forked child has its parent's, and nobody asks for them there.
static REQUESTS: Mutex<BTreeMap<u64, Request>> = Mutex::new(BTreeMap::new());

static BEGUN: AtomicU64 = AtomicU64::new(0);

/// For so long the recorder waits until the fork.
const PATIENCE: Duration = Duration::from_secs(10);

/// For so long the program's signals wait.
const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// How often one looks whether the recorder wants the child to be forked.
const LOOKS_APART: Duration = Duration::from_millis(1);

/// Begins; the request's number.
///
/// # Errors
/// With what the user should read.
pub(crate) fn begin(path: &[u8], overwrite: bool) -> Result<u64, String> {
    let path = absolute(OsStr::from_bytes(path)).map_err(|error| error.to_string())?;
    let wish = SnapshotWish {
        cause: "by the program".to_owned(),
        path: Some(path),
        overwrite,
        memory: SnapshotPlan::default().memory,
        patience: PATIENCE,
    };
    let pid = process::id();
    let begun = recording::with_collector(|collector| collector.begin_snapshot(pid, wish));
    let answers = begun.ok_or_else(why_not)?.map_err(|error| error.to_string())?;
    let number = BEGUN.fetch_add(1, Ordering::Relaxed) + 1;
    requests().insert(number, Request::Awaited(answers));
    Ok(number)
}

/// Waits until something has become of a request, the recorder wants the child to be forked, or [`LONGEST_WAIT`] is over;
/// other threads go on meanwhile. To be called where [`linked::take_snapshot`] is.
pub(crate) fn wait(number: u64) {
    let Some(Request::Awaited(answers)) = requests().remove(&number) else { return };
    let request = linked::outside(|| wait_for(answers));
    requests().insert(number, request);
}

/// What has become of a request; `None` if nothing has yet.
///
/// # Errors
/// With what the user should read.
pub(crate) fn answer(number: u64) -> Result<Option<SavedSnapshot>, String> {
    let mut requests = requests();
    match requests.remove(&number) {
        Some(Request::Done(answer)) => answer.map(Some),
        Some(awaited) => {
            requests.insert(number, awaited);
            Ok(None)
        }
        None => Err("no snapshot was begun in this process".to_owned()),
    }
}

/// Nobody waits for a request any more.
pub(crate) fn forget(number: u64) {
    requests().remove(&number);
}

fn wait_for(answers: Receiver<Answer>) -> Request {
    let end = Instant::now() + LONGEST_WAIT;
    loop {
        match answers.recv_timeout(LOOKS_APART) {
            Ok(answer) => return Request::Done(answer.map_err(|error| error.to_string())),
            Err(RecvTimeoutError::Disconnected) => {
                return Request::Done(Err("the recording has ended".to_owned()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if linked::is_snapshot_wanted() || Instant::now() >= end {
            return Request::Awaited(answers);
        }
    }
}

fn why_not() -> String {
    match preload::records() {
        true => format!(
            "`lifetrace record` records this process: `lifetrace snapshot {}` takes a snapshot of it",
            process::id()
        ),
        false => "there is no trace of this process: one is started first".to_owned(),
    }
}

fn requests() -> MutexGuard<'static, BTreeMap<u64, Request>> {
    REQUESTS.lock().unwrap_or_else(PoisonError::into_inner)
}
