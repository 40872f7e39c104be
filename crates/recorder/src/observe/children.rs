//! Children of a traced process that are not traced: into which no agent can be loaded, or which have been
//! started without our variables. They never say hello, so they are looked for where the kernel lists them.
//! One that lives shorter than the time between two looks may be missed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use rustix::process::Pid;

use crate::notice::Notice;
use crate::progress::Progress;
use crate::stat::Stat;
use crate::successor;

/// Any thread may have children; those of more threads than these are not looked for.
const MOST_THREADS: usize = 256;

/// A process of several threads is looked at no more often.
const APART: Duration = Duration::from_secs(1);

/// Looks after which a child is known for what it is, in whatever number.
const SETTLED: u32 = u32::MAX;

/// What is known of the children of one process.
pub(super) struct Children {
    pid: Pid,
    threads: PathBuf,
    /// How often each that lives has been looked at.
    known: FxHashMap<Pid, u32>,
    due: Instant,
}

impl Children {
    pub(super) fn of(pid: Pid) -> Children {
        let threads = format!("/proc/{}/task", pid.as_raw_nonzero()).into();
        Children { pid, threads, known: FxHashMap::default(), due: Instant::now() }
    }

    /// Tells of those that are found to be untraced, each once.
    pub(super) fn look(&mut self, progress: &Progress) {
        let now = Instant::now();
        if now < self.due {
            return;
        }
        let threads = self.threads();
        if threads.len() > 1 {
            self.due = now + APART;
        }
        let living = threads.iter().flat_map(|thread| children(thread));
        self.known = living.map(|child| (child, self.looks_at(child, progress))).collect();
    }

    /// Whether some may turn out to be untraced yet.
    pub(super) fn are_unsettled(&self) -> bool {
        self.known.values().any(|looks| *looks != SETTLED)
    }

    fn threads(&self) -> Vec<PathBuf> {
        let Ok(threads) = fs::read_dir(&self.threads) else { return Vec::new() };
        threads.flatten().take(MOST_THREADS).map(|thread| thread.path()).collect()
    }

    /// How often a child has been looked at, with this time. One that is expected to say hello is looked at
    /// more and more rarely.
    fn looks_at(&self, child: Pid, progress: &Progress) -> u32 {
        match self.known.get(&child).copied().unwrap_or(0) {
            SETTLED => SETTLED,
            looks if !(looks + 1).is_power_of_two() => looks + 1,
            _ if self.is_settled(child, progress) => SETTLED,
            looks => looks + 1,
        }
    }

    fn is_settled(&self, child: Pid, progress: &Progress) -> bool {
        if progress.has_session(child) {
            return true;
        }
        let Some(found) = successor::untraced_now(child).filter(|_| !self.is_fork(child)) else {
            return false;
        };
        // It may have said hello meanwhile.
        if !progress.has_session(child)
            && let Notice::Became { why, program } = found
        {
            progress.note_untraced(child, program, why);
        }
        true
    }

    /// Whether a child has executed nothing yet: it has its parent's stack, whatever that has made of the
    /// environment in it.
    fn is_fork(&self, child: Pid) -> bool {
        let stack = |pid| Stat::read(pid)?.start_of_stack();
        stack(child).is_some_and(|start| stack(self.pid) == Some(start))
    }
}

fn children(thread: &Path) -> Vec<Pid> {
    let children = fs::read_to_string(thread.join("children")).unwrap_or_default();
    children.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;

    use super::*;
    use crate::notice::Untraced;
    use crate::process::Called;

    fn cat(command: &mut Command) -> Child {
        let child = command.stdin(Stdio::piped()).spawn().unwrap();
        while Stat::read(Pid::from_child(&child)).unwrap().is_in_exec() {
            std::thread::yield_now();
        }
        child
    }

    /// Of children without an environment, one has a session.
    #[test]
    fn a_child_that_cannot_know_of_us_is_told_once() {
        let progress = Arc::new(Progress::default());
        let mut children = Children::of(rustix::process::getpid());
        let mut processes: Vec<Child> =
            (0..3).map(|_| cat(Command::new("cat").env_clear())).collect();
        let traced = Pid::from_child(&processes[0]);
        let _slot = progress.enter(traced, 1, Called::default(), Path::new("t"));
        for _ in 0..8 {
            children.due = Instant::now();
            children.look(&progress);
        }
        let told = progress.outcome().untraced;
        let of_cats: Vec<_> = told.iter().filter(|it| it.program.ends_with("/cat")).collect();
        assert_eq!(of_cats.len(), 1, "{told:?}");
        assert_eq!((of_cats[0].why, of_cats[0].processes), (Untraced::Environment, 2));
        for process in &mut processes {
            process.kill().unwrap();
            process.wait().unwrap();
        }
        children.due = Instant::now();
        children.look(&progress);
        assert!(!children.known.contains_key(&traced));
    }
}
