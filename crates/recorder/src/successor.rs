//! What a process has become that executed another program, and whether that is going to be traced.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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

/// What has come after a program that was traced, and has not said hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Successor {
    /// A program that is not going to be traced, and why.
    Untraced(Notice),
    /// A program of this path, in whose root directory there is no such library of the agent's.
    Elsewhere(Arc<str>, PathBuf),
    /// One that is to say hello.
    Expected,
    /// The process has ended.
    Gone,
}

impl Successor {
    /// What `pid` runs now.
    pub(crate) fn of(pid: Pid) -> Successor {
        let elsewhere = || program_without_library(pid);
        let is_there = || Stat::read(pid).is_some_and(|stat| stat.has_memory());
        match untraced(pid).map(Successor::Untraced).or_else(elsewhere) {
            Some(successor) => successor,
            None if is_there() => Successor::Expected,
            None => Successor::Gone,
        }
    }
}

/// `None` if the program that `pid` runs now is told to load the agent, or is gone as well.
fn untraced(pid: Pid) -> Option<Notice> {
    confirmed(|| {
        wait_for_start(pid);
        look(pid)
    })
}

/// If the process is told to load the agent from where it has no such file.
fn program_without_library(pid: Pid) -> Option<Successor> {
    let directory = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
    let environment = fs::read(directory.join("environ")).ok()?;
    let library = preload::path_of_agent(value(&environment, "LD_PRELOAD")?)?;
    let found = directory.join("root").join(library.strip_prefix("/").ok()?).metadata();
    let is_missing = found.is_err_and(|error| error.kind() == ErrorKind::NotFound);
    // Of a process that has ended nothing is found.
    let is_there = || Stat::read(pid).is_some_and(|stat| stat.has_memory());
    let program = name(&directory)?;
    (is_missing && is_there()).then(|| Successor::Elsewhere(program.into(), library.to_owned()))
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
        Some(Untraceable::Static | Untraceable::StaticRuntime(_) | Untraceable::Go) => {
            return Some(Untraced::Static);
        }
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
    value(environment, "LD_PRELOAD").is_some_and(preload::names_agent)
        && value(environment, SOCKET_VARIABLE).is_some()
}

fn value<'e>(environment: &'e [u8], name: &str) -> Option<&'e [u8]> {
    let prefix = [name.as_bytes(), b"="].concat();
    environment.split(|&byte| byte == 0).find_map(|entry| entry.strip_prefix(&prefix[..]))
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

    /// A library that is nowhere is not in the process's root either.
    #[test]
    fn a_program_cannot_load_what_its_root_has_not() {
        let mut command = Command::new("cat");
        command.env("LD_PRELOAD", "/no/such/liblifetrace.so").env(SOCKET_VARIABLE, "/s");
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let found = Successor::of(Pid::from_child(&child));
        child.stdin.take();
        child.wait().unwrap();
        let Successor::Elsewhere(program, library) = found else { panic!("{found:?}") };
        assert!(program.ends_with("/cat") && library == Path::new("/no/such/liblifetrace.so"));
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
        assert_eq!(Successor::of(pid), Successor::Gone);
        child.wait().unwrap();
    }

    #[test]
    fn who_is_gone_has_become_nothing() {
        let pid = Pid::from_raw(i32::MAX).unwrap();
        assert_eq!(Successor::of(pid), Successor::Gone);
    }
}
