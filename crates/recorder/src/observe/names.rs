//! What a process's threads are called.
//!
//! Most threads get their name just after they begin, and some change it later: so a thread is read
//! when it sends its first message, and all are read again in turn, one at each look.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use lifetrace_trace::fact::ThreadName;
use lifetrace_trace::ids;
use lifetrace_transport::message::ThreadId;
use rustix::process::Pid;

/// More threads than these are read but once.
const MOST: usize = 1024;

/// The threads of one process that have sent something and are not known to have ended.
pub(super) struct ThreadNames {
    /// Where its threads are; `None` when their numbers mean nothing here.
    directory: Option<PathBuf>,
    known: Vec<ThreadName>,
    turn: usize,
}

impl ThreadNames {
    pub(super) fn new(pid: Pid) -> ThreadNames {
        let process = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        let directory = (!is_in_another_namespace(&status)).then(|| process.join("task"));
        ThreadNames { directory, known: Vec::new(), turn: 0 }
    }

    /// The name of a thread that has sent its first message.
    pub(super) fn meet(&mut self, thread: ThreadId, os_id: u32) -> Option<ThreadName> {
        let name = self.read(os_id)?;
        let name = ThreadName { thread: ids::ThreadId(thread.0), os_id, name };
        if self.known.len() < MOST {
            // It is the next to be read again.
            self.known.insert(self.turn, name.clone());
        }
        Some(name)
    }

    /// The thread has ended.
    pub(super) fn forget(&mut self, thread: ThreadId) {
        if let Some(at) = self.known.iter().position(|it| it.thread.0 == thread.0) {
            self.drop_at(at);
        }
    }

    /// Reads one thread again; its name if that has changed.
    pub(super) fn look_again(&mut self) -> Option<ThreadName> {
        let at = if self.turn < self.known.len() { self.turn } else { 0 };
        let os_id = self.known.get(at)?.os_id;
        let Some(name) = self.read(os_id) else {
            self.drop_at(at);
            return None;
        };
        self.turn = at + 1;
        let known = &mut self.known[at];
        let has_changed = known.name != name;
        known.name = name;
        has_changed.then(|| known.clone())
    }

    fn drop_at(&mut self, at: usize) {
        self.known.remove(at);
        self.turn = if at < self.turn { self.turn - 1 } else { self.turn };
        self.turn = self.turn.min(self.known.len());
    }

    fn read(&self, os_id: u32) -> Option<Arc<str>> {
        let path = self.directory.as_ref()?.join(os_id.to_string()).join("comm");
        let name = fs::read(path).ok()?;
        let name = name.strip_suffix(b"\n").unwrap_or(&name);
        Some(String::from_utf8_lossy(name).into())
    }
}

/// Whether the process counts its threads in a namespace of its own (a container's): it then has
/// several numbers.
fn is_in_another_namespace(status: &str) -> bool {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_some_and(|numbers| numbers.split_ascii_whitespace().count() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn os_id() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get() as u32
    }

    #[test]
    fn names_change_and_threads_end() {
        let mut names = ThreadNames::new(rustix::process::getpid());
        let ((tell, told), (done, wait)) = (channel(), channel::<()>());
        let thread = std::thread::Builder::new().name("first".into()).spawn(move || {
            tell.send(os_id()).unwrap();
            wait.recv().unwrap();
            rustix::thread::set_name(c"second").unwrap();
            tell.send(os_id()).unwrap();
            wait.recv().unwrap();
        });
        let other = told.recv().unwrap();
        assert_eq!(&*names.meet(ThreadId(1), other).unwrap().name, "first");
        assert_eq!(names.look_again(), None);
        done.send(()).unwrap();
        told.recv().unwrap();
        assert_eq!(&*names.look_again().unwrap().name, "second");
        names.meet(ThreadId(2), os_id()).unwrap();
        done.send(()).unwrap();
        thread.unwrap().join().unwrap();
        names.forget(ThreadId(1));
        assert_eq!(names.known.len(), 1);
        assert_eq!(names.look_again(), None);
    }

    #[test]
    fn threads_that_went_without_a_word_are_forgotten() {
        let mut names = ThreadNames::new(rustix::process::getpid());
        names.meet(ThreadId(1), os_id()).unwrap();
        assert_eq!(names.meet(ThreadId(2), u32::MAX), None);
        names.known[0].os_id = u32::MAX;
        assert_eq!(names.look_again(), None);
        assert!(names.known.is_empty() && names.turn == 0);
    }

    #[test]
    fn containers_count_otherwise() {
        assert!(!is_in_another_namespace("Name:\tx\nNSpid:\t712\n"));
        assert!(is_in_another_namespace("Name:\tx\nNSpid:\t712\t1\n"));
        assert!(!is_in_another_namespace(""));
    }
}
