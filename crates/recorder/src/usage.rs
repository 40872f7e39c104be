//! What the kernel tells of a process that has ended and has not been waited for yet, above all its parent. \[UNSAFE\]

use lifetrace_trace::ids::Bytes;
use nix::libc;
use rustix::process::Pid;

use crate::stat::Stat;

/// Of a process that has ended, and which nobody has waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The most resident memory that it has had, in whatever programs it has run, and that of whoever made it as far as
    /// they shared it. `None` if it is not our child, or if children of its own count, too.
    pub(crate) most_resident: Option<Bytes>,
    /// The most resident memory that it has had, or a descendant that has been waited for, if that has had more.
    /// `None` if it is not our child.
    pub(crate) most_of_all: Option<Bytes>,
    /// Page faults that needed no I/O.
    pub(crate) minor_faults: Option<u64>,
    /// Page faults that needed I/O.
    pub(crate) major_faults: Option<u64>,
}

impl Usage {
    /// `None` if the process has not ended, or has been waited for.
    pub(crate) fn of(pid: Pid) -> Option<Usage> {
        Usage::of_ended(pid, &Stat::read(pid)?)
    }

    /// What a process has used whose `stat` has just been read. `None` if it has not ended, or has been waited for.
    pub(crate) fn of_ended(pid: Pid, stat: &Stat) -> Option<Usage> {
        const FAULTS_OF_CHILDREN: usize = 11;
        stat.exit()?;
        let is_alone = stat.number(FAULTS_OF_CHILDREN) == Some(0);
        let most_of_all = most_resident(pid);
        Some(Usage {
            most_resident: most_of_all.filter(|_| is_alone),
            most_of_all,
            minor_faults: stat.number(10),
            major_faults: stat.number(12),
        })
    }
}

fn most_resident(child: Pid) -> Option<Bytes> {
    let id = child.as_raw_nonzero().get();
    // SAFETY: zero is a valid value of both; the kernel, which has one argument more than C's function, writes to them.
    let kilobytes = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let mut usage: libc::rusage = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        let result = libc::syscall(
            libc::SYS_waitid,
            libc::P_PID,
            id,
            &raw mut info,
            options,
            &raw mut usage,
        );
        (result == 0 && info.si_pid() == id).then_some(usage.ru_maxrss)
    };
    Some(Bytes(u64::try_from(kilobytes?).ok()? << 10))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn of(script: &str) -> Usage {
        let mut child = Command::new("bash").args(["-c", script]).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let usage = loop {
            match Usage::of(pid) {
                Some(usage) => break usage,
                None => std::thread::yield_now(),
            }
        };
        child.wait().unwrap();
        assert_eq!(Usage::of(pid), None);
        usage
    }

    #[test]
    fn a_child_that_was_killed_tells_its_most_memory() {
        let alone = of("printf -v x %08000000d 0; kill -KILL $$");
        assert!(alone.most_resident.unwrap().0 > 8_000_000, "{alone:?}");
        assert!(alone.minor_faults.unwrap() > 1000, "{alone:?}");
        // That of a child that it has waited for may be more.
        let parent = of("x=$(printf %0800000d 0); kill -KILL $$");
        assert_eq!(parent.most_resident, None);
        let parent = of("(printf -v x %0100000000d 0; :); :");
        assert!(parent.most_of_all.unwrap().0 > 100_000_000, "{parent:?}");
    }
}
