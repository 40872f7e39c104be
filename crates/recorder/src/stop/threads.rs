//! What `/proc` says of a process's threads.

use std::fs;
use std::path::PathBuf;

use rustix::process::Pid;

/// The threads that there are now.
pub(super) fn threads_of(process: Pid) -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir(folder(process).join("task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

/// Whether a thread has ended, as far as it is concerned.
pub(super) fn is_gone(process: Pid, thread: Pid) -> bool {
    let task = folder(process).join("task").join(thread.as_raw_nonzero().to_string());
    let stat = fs::read_to_string(task.join("stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    state.is_none_or(|state| matches!(state, 'Z' | 'X' | 'x'))
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
