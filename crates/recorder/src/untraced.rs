//! Programs that were started by traced processes and are not traced themselves, as far as they are seen.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use rustix::process::Pid;

use crate::notice::Untraced;
use crate::outcome::UntracedProgram;

/// More are not told apart: neither programs nor processes.
const MOST: usize = 4096;

/// Programs that are not traced, by name and reason, and how many processes ran them.
#[derive(Debug, Default)]
pub(crate) struct UntracedPrograms {
    programs: BTreeMap<(Arc<str>, Untraced), u64>,
    /// Who has been counted, or is told of elsewhere.
    processes: FxHashSet<(Pid, Arc<str>)>,
}

impl UntracedPrograms {
    /// Counts a process, unless it is known.
    pub(crate) fn note(&mut self, pid: Pid, program: Arc<str>, why: Untraced) {
        if self.processes.contains(&(pid, Arc::clone(&program))) {
            return;
        }
        self.know(pid, Arc::clone(&program));
        if self.programs.len() < MOST || self.programs.contains_key(&(Arc::clone(&program), why)) {
            *self.programs.entry((program, why)).or_default() += 1;
        }
    }

    /// Does not count a process from now on.
    pub(crate) fn know(&mut self, pid: Pid, program: Arc<str>) {
        if self.processes.len() < MOST {
            self.processes.insert((pid, program));
        }
    }

    /// All of them.
    pub(crate) fn programs(self) -> Vec<UntracedProgram> {
        let told = |((program, why), processes)| UntracedProgram { program, why, processes };
        self.programs.into_iter().map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_traced_is_counted_once() {
        let mut untraced = UntracedPrograms::default();
        let pid = |number| Pid::from_raw(number).unwrap();
        untraced.know(pid(3), "/a".into());
        for (number, program) in [(1, "/a"), (2, "/a"), (1, "/a"), (1, "/b"), (3, "/a")] {
            untraced.note(pid(number), program.into(), Untraced::Static);
        }
        let programs = untraced.programs();
        let told: Vec<_> = programs.iter().map(|it| (&*it.program, it.processes)).collect();
        assert_eq!(told, [("/a", 2), ("/b", 1)]);
    }
}
