//! Processes that may be about to say hello.
//!
//! Between a fork and the child's hello nobody says that there is one more: where its parent ends at once, and
//! the machine is busy, a recording would take itself to be over. But the child has the recorder's address
//! in its environment. So as long as a young process has that, and nobody has a session, there is something
//! to wait for. Within `exec` a process has no environment, for some microseconds: it may be about to get it.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lifetrace_transport::handshake::SOCKET_VARIABLE;
use rustix::process::Pid;

use crate::stat::Stat;

/// What has not said hello by this age is not going to: a program that our library is not loaded into.
const YOUTH: Duration = Duration::from_secs(5);

/// The young processes that have the address of one recorder in their environment.
#[derive(Clone, Debug)]
pub(crate) struct LateProcesses {
    /// As it is in an environment.
    entry: Vec<u8>,
}

impl LateProcesses {
    /// Those of the recorder at `socket`.
    pub(crate) fn of(socket: &Path) -> LateProcesses {
        let variable = SOCKET_VARIABLE.as_bytes();
        LateProcesses { entry: [variable, b"=", socket.as_os_str().as_bytes()].concat() }
    }

    /// Whether there is one.
    pub(crate) fn are_expected(&self) -> bool {
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(Pid::from_raw).any(|pid| self.is(pid))
    }

    fn is(&self, pid: Pid) -> bool {
        is_young(pid)
            && self.is_in_environment_of(pid).unwrap_or_else(|| {
                // If it is out of `exec` by now, it has got what it gets.
                is_in_exec(pid) || self.is_in_environment_of(pid).unwrap_or(false)
            })
    }

    /// `None` if it has none. That of a stranger has nothing in it.
    fn is_in_environment_of(&self, pid: Pid) -> Option<bool> {
        let path = PathBuf::from(format!("/proc/{}/environ", pid.as_raw_nonzero()));
        let Ok(environment) = fs::read(path) else { return Some(false) };
        let has = || environment.split(|&byte| byte == 0).any(|entry| entry == self.entry);
        (!environment.is_empty()).then(has)
    }
}

fn is_young(pid: Pid) -> bool {
    let stat = Stat::read(pid).filter(|stat| stat.exit().is_none());
    stat.and_then(|stat| stat.age()).is_some_and(|age| age < YOUTH)
}

fn is_in_exec(pid: Pid) -> bool {
    Stat::read(pid).is_some_and(|stat| stat.is_in_exec())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_young_process_that_knows_the_address_is_expected() {
        let late_processes = LateProcesses::of(Path::new("/nowhere/of/this/test"));
        let mut cat = Command::new("cat")
            .env(SOCKET_VARIABLE, "/nowhere/of/this/test")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&cat);
        // Before its `exec` it has the environment of this test.
        while late_processes.is_in_environment_of(pid) != Some(true) {
            std::thread::yield_now();
        }
        assert!(late_processes.are_expected());
        assert!(!LateProcesses::of(Path::new("/nowhere/of/this")).is(pid));
        cat.kill().unwrap();
        // Until somebody asks how it has ended it is still there.
        while Stat::read(pid).is_some_and(|stat| stat.exit().is_none()) {
            std::thread::yield_now();
        }
        assert!(!late_processes.is(pid));
        cat.wait().unwrap();
    }

    #[test]
    fn a_process_without_environment_is_expected_for_as_long_as_it_is_in_exec() {
        let mut cat = Command::new("cat").env_clear().stdin(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&cat);
        while is_in_exec(pid) {
            std::thread::yield_now();
        }
        assert!(!LateProcesses::of(Path::new("/nowhere")).is(pid));
        cat.kill().unwrap();
        cat.wait().unwrap();
    }
}
