//! The start itself. `posix_spawn` rather than `std::process::Command`, which would empty the
//! command's signal mask: the command gets our streams, directory, mask and dispositions as we got
//! them ourselves, see [`inherited`].

use std::ffi::{CString, OsStr, OsString};
use std::io;

use lifetrace_transport::handshake::SOCKET_VARIABLE;
use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal};
use rustix::process::Pid;

use super::{Additions, LaunchError, Program, c_string, inherited};

const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

/// Starts `program` with `command` as its argument vector.
///
/// # Errors
/// [`LaunchError::NotFound`], [`LaunchError::NotExecutable`] or [`LaunchError::Spawn`].
pub(crate) fn spawn(
    program: &Program,
    command: &[OsString],
    additions: &Additions,
) -> Result<Pid, LaunchError> {
    try_spawn(program, command, additions).map_err(|error| refusal(program, error))
}

fn try_spawn(program: &Program, command: &[OsString], additions: &Additions) -> io::Result<Pid> {
    let arguments = command.iter().map(|word| c_string(word)).collect::<io::Result<Vec<_>>>()?;
    let environment = environment(std::env::vars_os(), additions)?;
    let (attributes, actions) = (attributes()?, actions()?);
    let pid = posix_spawn(&program.path, &actions, &attributes, &arguments, &environment)?;
    inherited::keep_ends_of_children();
    Pid::from_raw(pid.as_raw()).ok_or_else(|| io::Error::other("the new process has no id"))
}

fn attributes() -> io::Result<PosixSpawnAttr> {
    let mut attributes = PosixSpawnAttr::init()?;
    if !inherited::ignored_sigpipe() {
        attributes.set_flags(PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF)?;
        attributes.set_sigdefault(&SigSet::from(Signal::SIGPIPE))?;
    }
    Ok(attributes)
}

fn actions() -> io::Result<PosixSpawnFileActions> {
    let mut actions = PosixSpawnFileActions::init()?;
    for stream in inherited::closed_streams() {
        actions.add_close(stream)?;
    }
    Ok(actions)
}

fn environment(
    variables: impl Iterator<Item = (OsString, OsString)>,
    additions: &Additions,
) -> io::Result<Vec<CString>> {
    let variables: Vec<_> = variables.collect();
    let ours: Vec<(&str, OsString)> = match additions {
        Additions::Agent { preload, socket } => {
            let preload = ahead_of_others(preload.as_os_str(), &variables);
            vec![(PRELOAD_VARIABLE, preload), (SOCKET_VARIABLE, socket.into())]
        }
        Additions::Variables(variables) => variables.clone(),
    };
    let is_ours = |name: &OsString| ours.iter().any(|(our, _)| name == our);
    let theirs = variables.iter().filter(|(name, _)| !is_ours(name));
    let theirs = theirs.map(|(name, value)| assignment(name, value));
    theirs.chain(ours.iter().map(|(name, value)| assignment(name.as_ref(), value))).collect()
}

/// Our library, and whatever else is to be loaded.
fn ahead_of_others(preload: &OsStr, variables: &[(OsString, OsString)]) -> OsString {
    let mut all = preload.to_owned();
    let others =
        variables.iter().filter(|(name, value)| name == PRELOAD_VARIABLE && !value.is_empty());
    for (_, other) in others {
        all.push(":");
        all.push(other);
    }
    all
}

fn assignment(name: &OsStr, value: &OsStr) -> io::Result<CString> {
    let mut word = name.to_owned();
    word.push("=");
    word.push(value);
    c_string(&word)
}

fn refusal(program: &Program, error: io::Error) -> LaunchError {
    let path = program.path.clone();
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOENT) => LaunchError::NotFound(path.into()),
        Some(Errno::EACCES | Errno::ENOEXEC | Errno::ELIBBAD | Errno::ETXTBSY) => {
            LaunchError::NotExecutable { path, reason: error.to_string() }
        }
        _ => LaunchError::Spawn { path, error },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::ocaml::memtrace_variables;
    use rustix::process::{WaitOptions, waitpid};

    fn additions() -> Additions {
        Additions::Agent { preload: "/ours.so".into(), socket: "/socket".into() }
    }

    fn check(given: &[(&str, &str)], expected: &[&str]) {
        check_with(&additions(), given, expected);
    }

    fn check_with(additions: &Additions, given: &[(&str, &str)], expected: &[&str]) {
        let given = given.iter().map(|(name, value)| (name.into(), value.into()));
        let found = environment(given, additions).unwrap();
        let found: Vec<_> = found.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn our_library_comes_first() {
        let ours = ["LD_PRELOAD=/ours.so", "LIFETRACE_SOCKET=/socket"];
        check(&[], &ours);
        check(&[("LD_PRELOAD", ""), ("A", "b=c")], &["A=b=c", ours[0], ours[1]]);
        check(&[("LD_PRELOAD", "x.so:y.so")], &["LD_PRELOAD=/ours.so:x.so:y.so", ours[1]]);
        check(&[("LIFETRACE_SOCKET", "/other")], &ours);
    }

    #[test]
    fn what_is_linked_in_is_told_by_its_own_variables() {
        let additions = Additions::Variables(memtrace_variables("/x.ctf".into(), 1e-6));
        let given = [("MEMTRACE", "/old"), ("LD_PRELOAD", "x.so"), ("MEMTRACE_RATE", "1")];
        let expected = ["LD_PRELOAD=x.so", "MEMTRACE=/x.ctf", "MEMTRACE_RATE=0.000001"];
        check_with(&additions, &given, &expected);
    }

    #[test]
    fn the_command_runs_with_its_arguments() {
        let command: Vec<OsString> =
            ["sh", "-c", "exit $(($1 + 1))", "name", "6"].map(Into::into).into();
        let program = Program::find("sh".as_ref(), None).unwrap();
        let socket = "/nonexistent".into();
        let additions = Additions::Agent { preload: "".into(), socket };
        let pid = spawn(&program, &command, &additions).unwrap();
        let (_, status) = waitpid(Some(pid), WaitOptions::empty()).unwrap().unwrap();
        assert_eq!(status.exit_status(), Some(7));
    }

    #[test]
    fn what_is_gone_meanwhile_is_not_found() {
        let program = Program { path: "/no/such".into(), image: "/no/such".into() };
        let error = spawn(&program, &["x".into()], &additions()).unwrap_err();
        assert!(matches!(error, LaunchError::NotFound(_)));
    }
}
