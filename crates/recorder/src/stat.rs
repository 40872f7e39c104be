//! `/proc/<pid>/stat`: one line of fields, numbered as in proc(5).

use std::fs;
use std::time::Duration;

use lifetrace_trace::fact::Exit;
use rustix::process::Pid;
use rustix::time::{ClockId, clock_gettime};

/// The fields from the third on; the second, the program's name, may hold anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat(String);

const FIRST: usize = 3;
const STATE: usize = 3;
const START_TIME: usize = 22;
const MEMORY_SIZE: usize = 23;
const STACK_START: usize = 28;
const ENVIRONMENT_END: usize = 51;
const EXIT_CODE: usize = 52;

impl Stat {
    /// `None` when there is no such process.
    pub(crate) fn read(pid: Pid) -> Option<Stat> {
        Stat::parse(&fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?)
    }

    pub(crate) fn parse(text: &[u8]) -> Option<Stat> {
        let after_name = text.iter().rposition(|&byte| byte == b')')? + 1;
        let rest = std::str::from_utf8(&text[after_name..]).ok()?;
        Some(Stat(rest.to_owned()))
    }

    /// A field that is a number.
    pub(crate) fn number(&self, field: usize) -> Option<u64> {
        self.field(field)?.parse().ok()
    }

    fn field(&self, field: usize) -> Option<&str> {
        self.0.split_ascii_whitespace().nth(field - FIRST)
    }

    /// Time since the process began, to a hundredth of a second.
    pub(crate) fn age(&self) -> Option<Duration> {
        let ticks = self.number(START_TIME)?;
        let per_second = rustix::param::clock_ticks_per_second();
        let begun = Duration::from_nanos(ticks.checked_mul(1_000_000_000 / per_second)?);
        let now = clock_gettime(ClockId::Boottime);
        let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
        Some(now.saturating_sub(begun))
    }

    /// Whether its new program has no environment yet. (The kernel's own threads have no memory either.)
    pub(crate) fn is_in_exec(&self) -> bool {
        self.number(MEMORY_SIZE) != Some(0) && self.number(ENVIRONMENT_END) == Some(0)
    }

    /// Where its stack begins, which each program that is executed has elsewhere. `None` if we may not know.
    pub(crate) fn start_of_stack(&self) -> Option<u64> {
        // 1 stands for what is not told.
        self.number(STACK_START).filter(|&start| start > 1)
    }

    /// Whether it has not given up its memory, as it does when it ends.
    pub(crate) fn has_memory(&self) -> bool {
        self.number(MEMORY_SIZE).is_some_and(|size| size > 0) && self.exit().is_none()
    }

    /// How the process ended, if it has and nobody has asked yet.
    pub(crate) fn exit(&self) -> Option<Exit> {
        let is_over = matches!(self.field(STATE)?, "Z" | "X");
        let status = self.number(EXIT_CODE).filter(|_| is_over)? as i32;
        Some(match status & 0x7f {
            0 => Exit::Status(status >> 8 & 0xff),
            signal => Exit::Signal(signal),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn stat(name: &str, state: &str, exit_code: u32) -> Stat {
        let middle: Vec<String> = (4..=51).map(|number| number.to_string()).collect();
        let text = format!("7 ({name}) {state} {} {exit_code}\n", middle.join(" "));
        Stat::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn names_of_programs_may_hold_anything() {
        assert_eq!(stat("x) 1 2", "S", 0).number(24), Some(24));
        assert_eq!(Stat::parse(b"7 (a) S 1 2 3").unwrap().number(24), None);
        assert_eq!(Stat::parse(b"potato"), None);
    }

    #[test]
    fn an_end_has_a_status_or_a_signal() {
        assert_eq!(stat("a", "Z", 0x0300).exit(), Some(Exit::Status(3)));
        assert_eq!(stat("a", "Z", 0x0089).exit(), Some(Exit::Signal(9)));
        assert_eq!(stat("a", "S", 0).exit(), None);
        assert_eq!(Stat::parse(b"7 (a) Z 1").unwrap().exit(), None);
    }

    #[test]
    fn a_child_that_nobody_has_waited_for() {
        let mut child = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32).unwrap();
        let exit = loop {
            match Stat::read(pid).unwrap().exit() {
                Some(exit) => break exit,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!(exit, Exit::Status(7));
        child.wait().unwrap();
        assert_eq!(Stat::read(pid).and_then(|stat| stat.exit()), None);
    }

    #[test]
    fn within_exec_there_is_memory_and_no_environment() {
        let stat = |memory: u64, environment: u64| {
            let fields = (3..=51).map(|number| match number {
                MEMORY_SIZE => memory,
                ENVIRONMENT_END => environment,
                _ => 1,
            });
            let fields: Vec<String> = fields.map(|number| number.to_string()).collect();
            Stat::parse(format!("7 (a) {}", fields.join(" ")).as_bytes()).unwrap()
        };
        assert!(stat(4096, 0).is_in_exec());
        assert!(!stat(0, 0).is_in_exec());
        assert!(!stat(4096, 4096).is_in_exec());
    }

    #[test]
    fn our_own_age() {
        let stat = Stat::read(rustix::process::getpid()).unwrap();
        assert!(stat.age().unwrap() < Duration::from_secs(3600));
    }
}
