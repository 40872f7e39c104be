//! What `/proc` says of a process's threads.

use std::fs;
use std::path::PathBuf;

use rustix::process::Pid;

/// The threads that there are now.
pub(super) fn threads_of(process: Pid) -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir(folder(process).join("task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

/// The threads that wait for something at this moment and can be interrupted, the first thread first.
pub(crate) fn waiting_threads(process: Pid) -> Vec<Pid> {
    let mut waiting: Vec<Pid> =
        threads_of(process).filter(|&thread| state_of(process, thread) == Some('S')).collect();
    waiting.sort_by_key(|thread| thread.as_raw_nonzero());
    waiting
}

/// All threads, those that wait for something at this moment first.
#[cfg(target_arch = "x86_64")]
pub(crate) fn sleepers_first(process: Pid) -> Vec<Pid> {
    let threads = threads_of(process).collect();
    first_those(threads, |thread| state_of(process, thread) == Some('S'))
}

/// Each is asked once: the answer may be another one a moment later, and nothing can be put in an order that changes.
#[cfg(target_arch = "x86_64")]
fn first_those(mut threads: Vec<Pid>, mut are: impl FnMut(Pid) -> bool) -> Vec<Pid> {
    threads.sort_by_cached_key(|&thread| (!are(thread), thread.as_raw_nonzero()));
    threads
}

/// Whether a thread has ended, as far as it is concerned.
pub(super) fn is_gone(process: Pid, thread: Pid) -> bool {
    let state = state_of(process, thread);
    state.is_none_or(|state| matches!(state, 'Z' | 'X' | 'x'))
}

/// The kernel's letter for what a thread does.
fn state_of(process: Pid, thread: Pid) -> Option<char> {
    let task = folder(process).join("task").join(thread.as_raw_nonzero().to_string());
    let stat = fs::read_to_string(task.join("stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next())
}

/// Who traces a process.
pub(super) fn tracer_of(process: Pid) -> Option<Pid> {
    let status = fs::read_to_string(folder(process).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
    Pid::from_raw(line.trim().parse().ok()?)
}

fn folder(process: Pid) -> PathBuf {
    format!("/proc/{}", process.as_raw_nonzero()).into()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn threads_that_fall_asleep_meanwhile_are_put_in_some_order() {
        let pid = |number: i32| Pid::from_raw(number).unwrap();
        let all: Vec<Pid> = (1..200).map(pid).collect();
        let mut asked = 0u64;
        let found = first_those(all.clone(), |_| {
            asked = asked.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            asked >> 63 == 0
        });
        assert_eq!(found.len(), all.len());
        assert_eq!(first_those(all, |thread| thread == pid(7))[..3], [pid(7), pid(1), pid(2)]);
    }
}
