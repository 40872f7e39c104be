//! Programs that traced processes have executed and of which nothing was heard, though they might have said hello.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::outcome::{Execution, Unheard};
use crate::stat::Stat;

/// A program that has been executed says hello within this time.
const START: Duration = Duration::from_secs(5);

/// A build may execute a million programs: more than these are not told apart.
const MOST: usize = 64;

/// Who has executed another program, and what is known of that.
#[derive(Debug, Default)]
pub(crate) struct Executions {
    /// Who is to say hello, and until when.
    expected: Vec<(Pid, Instant, String)>,
    unheard: Vec<(Pid, Execution)>,
}

impl Executions {
    /// `program` has become another one in this process, which is to say hello.
    pub(crate) fn expect(&mut self, pid: Pid, program: String) {
        self.expected.push((pid, Instant::now() + START, program));
    }

    /// `program` has become another one in this process, which says no hello.
    pub(crate) fn note(&mut self, pid: Pid, program: String, what: Unheard) {
        if self.unheard.len() < MOST {
            self.unheard.push((pid, Execution { program, what }));
        }
    }

    /// A process says hello.
    pub(crate) fn hear(&mut self, pid: Pid) {
        self.expected.retain(|(expected, ..)| *expected != pid);
        self.unheard.retain(|(unheard, _)| *unheard != pid);
    }

    /// Whether any may still say hello.
    pub(crate) fn expects_any(&mut self) -> bool {
        let now = Instant::now();
        let lives = |pid| Stat::read(pid).is_some_and(|stat| stat.has_memory());
        let over: Vec<_> =
            self.expected.extract_if(.., |(pid, until, _)| *until <= now || !lives(*pid)).collect();
        over.into_iter().for_each(|(pid, _, program)| self.note(pid, program, Unheard::Silent));
        !self.expected.is_empty()
    }

    /// All of which nothing was heard.
    pub(crate) fn take(&mut self) -> Vec<Execution> {
        let expected = std::mem::take(&mut self.expected);
        expected.into_iter().for_each(|(pid, _, program)| self.note(pid, program, Unheard::Silent));
        std::mem::take(&mut self.unheard).into_iter().map(|(_, execution)| execution).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_hello_in_the_end_is_no_news() {
        let mut executions = Executions::default();
        let (own, gone) = (rustix::process::getpid(), Pid::from_raw(i32::MAX).unwrap());
        executions.expect(own, "env".into());
        executions.expect(gone, "nice".into());
        assert!(executions.expects_any());
        executions.note(own, "chroot".into(), Unheard::Ended);
        executions.hear(own);
        assert!(!executions.expects_any());
        let told = executions.take();
        assert_eq!(told, [Execution { program: "nice".into(), what: Unheard::Silent }]);
        assert_eq!(executions.take(), []);
    }

    #[test]
    fn of_many_a_few_are_told() {
        let mut executions = Executions::default();
        for pid in 1..=2 * MOST as i32 {
            executions.note(Pid::from_raw(pid).unwrap(), "sh".into(), Unheard::Ended);
        }
        assert_eq!(executions.take().len(), MOST);
    }
}
