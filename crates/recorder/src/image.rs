//! Whether a process still runs the program whose agent has said hello, or has executed another one.
//!
//! `exec` keeps the process's number, its start time and whatever descriptors there are of it; what it
//! replaces is the memory. A file of `/proc/<pid>` that shows memory belongs, once it is open, to the
//! memory that it was opened on, and tells when that is gone: so another program is recognised even if
//! it is the same file with the same arguments. The question costs half a microsecond and waits for
//! nothing: `pagemap` refuses to be read by the byte, but has an end where there is no memory any more.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::process::Pid;

use crate::stat::Stat;

/// The memory of one program, in whatever hands.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pid: Pid,
    /// None where the system does not let us see it, so that its end is not noticed.
    memory: Option<Arc<File>>,
}

impl Image {
    /// What the process runs now.
    pub(crate) fn of(pid: Pid) -> Image {
        let memory = File::open(format!("/proc/{}/pagemap", pid.as_raw_nonzero())).ok();
        let memory = memory.filter(|memory| has_end(memory) == Some(false));
        Image { pid, memory: memory.map(Arc::new) }
    }

    /// Its process.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether it is known to be gone: its process has executed another program, or ends.
    pub(crate) fn is_gone(&self) -> bool {
        self.memory.as_deref().and_then(has_end) == Some(true)
    }

    /// Whether it is gone and its process lives on.
    pub(crate) fn is_replaced(&self) -> bool {
        self.is_gone() && Stat::read(self.pid).is_some_and(|stat| stat.has_memory())
    }
}

/// `None` if this is not the file that we know.
fn has_end(pagemap: &File) -> Option<bool> {
    match pagemap.read_at(&mut [0], 0) {
        Ok(0) => Some(true),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Child, Command, Stdio};

    /// A shell that executes what it is told, which is what it is itself.
    fn shell(then: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo; read _; {then}")]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn heard(child: &mut Child) {
        let mut byte = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut byte).unwrap();
    }

    #[test]
    fn the_same_program_executed_again_is_another_image() {
        let mut child = shell("exec sh -c 'echo; read _'");
        let pid = Pid::from_child(&child);
        heard(&mut child);
        let first = Image::of(pid);
        assert!(!first.is_gone() && !first.is_replaced());
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        heard(&mut child);
        let second = Image::of(pid);
        assert!(first.is_gone() && first.is_replaced());
        assert!(!second.is_gone());
        child.stdin.take();
        child.wait().unwrap();
        assert!(second.is_gone() && !second.is_replaced());
    }

    #[test]
    fn a_process_that_has_ended_is_not_replaced() {
        let mut child = shell("exit 3");
        heard(&mut child);
        let image = Image::of(Pid::from_child(&child));
        child.stdin.take();
        while !image.is_gone() {
            std::thread::yield_now();
        }
        // Nobody has waited for it yet.
        assert!(!image.is_replaced());
        child.wait().unwrap();
    }

    #[test]
    fn what_cannot_be_seen_is_not_gone() {
        let nobody = Pid::from_raw(i32::MAX).unwrap();
        assert!(!Image::of(nobody).is_gone());
    }
}
