//! What a process has become that executed another program, if that is not going to be traced.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use lifetrace_transport::handshake::SOCKET_VARIABLE;
use rustix::process::Pid;

use crate::launch::{Untraceable, obstacle};
use crate::notice::{Notice, Untraced};
use crate::preload;
use crate::stat::Stat;

/// A program that is being executed gets its environment within this time, on a machine that is not
/// overloaded.
const START: Duration = Duration::from_millis(1);
const MOST_STARTS: u32 = 50;

/// So often an environment must lack us.
const LOOKS: u32 = 3;

/// In the vector that the kernel hands to programs: whether the dynamic linker ignores `LD_PRELOAD`.
const AT_SECURE: u64 = 23;

/// `None` if the program that `pid` runs now is expected to be traced, or is gone as well.
pub(crate) fn untraced(pid: Pid) -> Option<Notice> {
    confirmed(|| {
        wait_for_start(pid);
        look(pid)
    })
}

/// Why the program that `pid` runs is not traced, if it is not within `exec`: then it may become anything.
pub(crate) fn untraced_now(pid: Pid) -> Option<Notice> {
    let has_started = || Stat::read(pid).is_some_and(|stat| !stat.is_in_exec());
    confirmed(|| has_started().then(|| look(pid)).flatten())
}

fn confirmed(look: impl Fn() -> Option<Notice>) -> Option<Notice> {
    let mut found = look()?;
    // Its environment ends early for us if it executes yet another program meanwhile.
    for _ in 1..LOOKS {
        if matches!(found, Notice::Became { why: Untraced::Environment, .. }) {
            found = look()?;
        }
    }
    Some(found)
}

/// Looks again if that was at two programs, one after the other.
fn look(pid: Pid) -> Option<Notice> {
    let stack = || Stat::read(pid).and_then(|stat| stat.start_of_stack());
    for _ in 0..MOST_STARTS {
        let before = stack();
        let found = look_once(pid);
        if found.is_none() || stack() == before {
            return found;
        }
    }
    None
}

fn look_once(pid: Pid) -> Option<Notice> {
    let directory = format!("/proc/{}", pid.as_raw_nonzero());
    let directory = Path::new(&directory);
    let why = why(directory)?;
    Some(Notice::Became { why, program: name(directory)?.into() })
}

fn wait_for_start(pid: Pid) {
    for _ in 0..MOST_STARTS {
        match Stat::read(pid) {
            Some(stat) if stat.is_in_exec() => std::thread::sleep(START),
            _ => break,
        }
    }
}

fn why(directory: &Path) -> Option<Untraced> {
    let file = File::open(directory.join("exe"));
    match file.ok().and_then(|file| obstacle(&file)) {
        Some(Untraceable::Static | Untraceable::StaticRuntime(_)) => return Some(Untraced::Static),
        Some(_) => return Some(Untraced::Foreign),
        None => {}
    }
    let environment = fs::read(directory.join("environ"));
    // Read last: of a process that has ended meanwhile it is empty, and so may the environment have been.
    match fs::read(directory.join("auxv")) {
        Ok(auxiliary) if auxiliary.is_empty() => None,
        Ok(auxiliary) if is_secure(&auxiliary) => Some(Untraced::Privileged),
        Ok(_) => (!knows_us(&environment.ok()?)).then_some(Untraced::Environment),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Some(Untraced::Privileged),
        Err(_) => None,
    }
}

fn is_secure(auxiliary: &[u8]) -> bool {
    let words = auxiliary.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word));
    let pairs: Vec<u64> = words.collect();
    pairs.chunks_exact(2).any(|pair| pair[0] == AT_SECURE && pair[1] != 0)
}

/// Whether the agent is to be loaded, and is told of a recorder.
fn knows_us(environment: &[u8]) -> bool {
    let value = |name: &str| {
        let prefix = [name.as_bytes(), b"="].concat();
        environment.split(|&byte| byte == 0).find_map(|entry| entry.strip_prefix(&prefix[..]))
    };
    value("LD_PRELOAD").is_some_and(preload::names_agent) && value(SOCKET_VARIABLE).is_some()
}

/// The path of the program; of one that may not be looked into, what the kernel calls it.
fn name(directory: &Path) -> Option<String> {
    let path = fs::read_link(directory.join("exe"));
    let path = path.ok().map(|path| path.to_string_lossy().into_owned());
    path.or_else(|| Some(fs::read_to_string(directory.join("comm")).ok()?.trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn became(environment: &[(&str, &str)]) -> Option<Notice> {
        let mut command = Command::new("cat");
        command.env_clear().envs(environment.iter().copied()).stdin(Stdio::piped());
        // The dynamic linker complains there.
        command.stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let found = untraced(Pid::from_child(&child));
        child.stdin.take();
        child.wait().unwrap();
        found
    }

    #[test]
    fn a_program_is_traced_if_its_environment_says_so() {
        let program = |notice| match notice {
            Some(Notice::Became { why: Untraced::Environment, program }) => program.to_string(),
            other => panic!("{other:?}"),
        };
        let (preload, socket) = (("LD_PRELOAD", "/x/liblifetrace.so"), (SOCKET_VARIABLE, "/s"));
        assert!(program(became(&[])).ends_with("/cat"));
        assert!(program(became(&[preload])).ends_with("/cat"));
        assert!(program(became(&[socket, ("LD_PRELOAD", "")])).ends_with("/cat"));
        assert_eq!(became(&[("LD_PRELOAD", "/y.so:/x/liblifetrace.so"), socket]), None);
    }

    /// One program after the other, all of which know us.
    #[test]
    fn a_program_that_is_followed_by_another_is_traced() {
        let script = r#"[ "$1" -gt 0 ] && exec sh -c "$0" "$0" $(($1 - 1))"#;
        let mut command = Command::new("sh");
        command.args(["-c", script, script, "300"]).stderr(Stdio::null());
        let padding = "x".repeat(1 << 16);
        command.env("A_LONG_ONE", padding).env("LD_PRELOAD", "/x/liblifetrace.so");
        let mut child = command.env(SOCKET_VARIABLE, "/s").spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            assert_eq!(untraced(Pid::from_child(&child)), None);
        }
    }

    #[test]
    fn the_kernel_says_whose_rights_a_program_has() {
        let vector =
            |pairs: &[u64]| pairs.iter().flat_map(|it| it.to_ne_bytes()).collect::<Vec<_>>();
        assert!(is_secure(&vector(&[6, 4096, 23, 1, 0, 0])));
        assert!(!is_secure(&vector(&[6, 23, 23, 0, 0, 0])));
        assert!(!is_secure(&fs::read("/proc/self/auxv").unwrap()));
        assert!(!is_secure(b"short"));
    }

    /// Its exit code is still to be fetched; it has no memory any more.
    #[test]
    fn who_has_ended_has_become_nothing() {
        let mut child = Command::new("true").env_clear().spawn().unwrap();
        let pid = Pid::from_child(&child);
        while Stat::read(pid).is_some_and(|stat| stat.exit().is_none()) {
            std::thread::yield_now();
        }
        assert_eq!(untraced(pid), None);
        child.wait().unwrap();
    }

    #[test]
    fn who_is_gone_has_become_nothing() {
        let pid = Pid::from_raw(i32::MAX).unwrap();
        assert_eq!(untraced(pid), None);
    }
}
