//! Processes that may be about to say hello.
//!
//! Between a fork and the child's hello nobody says that there is one more: where its parent ends at once, and
//! the machine is busy, a recording would take itself to be over. But the child has the recorder's address
//! in its environment. So as long as a young process has that, and nobody has a session, there is something
//! to wait for.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lifetrace_transport::handshake::SOCKET_VARIABLE;
use rustix::process::Pid;

use crate::stat::Stat;

/// What has not said hello by this age is not going to: a program that our library is not loaded into.
const YOUTH: Duration = Duration::from_secs(5);

/// Knows them by the address of one recorder.
#[derive(Clone, Debug)]
pub(crate) struct Latecomers {
    /// As it is in an environment.
    entry: Vec<u8>,
}

impl Latecomers {
    /// Those of the recorder at `socket`.
    pub(crate) fn of(socket: &Path) -> Latecomers {
        let variable = SOCKET_VARIABLE.as_bytes();
        Latecomers { entry: [variable, b"=", socket.as_os_str().as_bytes()].concat() }
    }

    /// Whether there is one.
    pub(crate) fn are_expected(&self) -> bool {
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(Pid::from_raw).any(|pid| is_young(pid) && self.is_in_environment_of(pid))
    }

    fn is_in_environment_of(&self, pid: Pid) -> bool {
        let path = PathBuf::from(format!("/proc/{}/environ", pid.as_raw_nonzero()));
        let environment = fs::read(path).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry == self.entry)
    }
}

fn is_young(pid: Pid) -> bool {
    let stat = Stat::read(pid).filter(|stat| stat.exit().is_none());
    stat.and_then(|stat| stat.age()).is_some_and(|age| age < YOUTH)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_young_process_that_knows_the_address_is_expected() {
        let latecomers = Latecomers::of(Path::new("/nowhere/of/this/test"));
        assert!(!latecomers.are_expected());
        let mut cat = Command::new("cat")
            .env(SOCKET_VARIABLE, "/nowhere/of/this/test")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(latecomers.are_expected());
        assert!(!Latecomers::of(Path::new("/nowhere/of/this")).are_expected());
        cat.kill().unwrap();
        // Until somebody asks how it has ended it is still there.
        let is_over = || Stat::read(Pid::from_child(&cat)).is_none_or(|stat| stat.exit().is_some());
        while !is_over() {
            std::thread::yield_now();
        }
        assert!(!latecomers.are_expected());
        cat.wait().unwrap();
    }
}
