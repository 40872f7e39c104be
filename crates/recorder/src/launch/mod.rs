//! Starting the command: found as the shell would find it, refused if it could not be traced, run
//! with nothing changed but two environment variables.

mod elf;
mod hints;
#[allow(unsafe_code)]
mod inherited;
mod program;
mod spawn;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

#[cfg(target_arch = "x86_64")]
pub(crate) use elf::{Image, image, is_of_go};
pub(crate) use program::{Program, obstacle};
pub(crate) use spawn::spawn;

/// Why the command was not started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// No command was given.
    #[error("no command given")]
    Empty,
    /// There is no such file, or none of that name in `PATH`.
    #[error("{}: command not found{}", .0.display(), hints::hint(.0))]
    NotFound(OsString),
    /// It is there, but the kernel would not execute it.
    #[error("{}: {reason}", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// It can be executed, but not traced.
    #[error("{}: {reason}", path.display())]
    Untraceable {
        /// The file: the command, or the interpreter that it names.
        path: PathBuf,
        /// Why, and what to do instead.
        reason: Untraceable,
    },
    /// The kernel refused for a reason that is not the program's.
    #[error("cannot start {}: {error}", path.display())]
    Spawn {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Why the dynamic linker would not load the agent into a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untraceable {
    /// No interpreter: there is no dynamic linker.
    #[error(
        "is statically linked, so that no agent can be loaded into it; link it dynamically \
         (without -static, for Rust with a -gnu target) to trace it, or, in Rust, have it record itself by \
         the crate lifetrace"
    )]
    Static,
    /// Statically linked, with a managed runtime, for which there is other advice.
    #[error("{0}")]
    StaticRuntime(&'static str),
    /// Statically linked, by Go.
    #[error("is a statically linked Go program, {OF_GO}")]
    Go,
    /// `record --memtrace` of a program that has none.
    #[error(
        "has no Memtrace linked in, or does not export it, so that --memtrace does nothing; without that \
         option it is recorded as it is"
    )]
    NoMemtrace,
    /// Another word size or processor.
    #[error(
        "is built for another processor ({0}) than this lifetrace; use a lifetrace built for it"
    )]
    OtherMachine(&'static str),
    /// Another C library, whose dynamic linker would stop the program because of our agent.
    #[error(
        "uses the musl C library, and the agent needs the GNU one; build it for a -gnu target, or \
         without musl-gcc, to trace it"
    )]
    Musl,
    /// A sanitizer's shared library, whose beginning of the name this is, would end the program
    /// because of our agent.
    #[error(
        "is linked with a sanitizer's shared library ({0}), which ends the program if it is not the \
         first to be loaded; build it without the sanitizer to trace it (with -static-libasan it \
         runs, but its allocations cannot be heard)"
    )]
    Sanitized(&'static str),
    /// The dynamic linker ignores us when ids switch.
    #[error(
        "is setuid or setgid and would change its identity, so that the system ignores the agent; \
         run lifetrace as that user"
    )]
    SwitchesIds,
    /// The dynamic linker ignores us when capabilities are gained.
    #[error(
        "has file capabilities, so that the system ignores the agent; run lifetrace as root, or \
         trace a copy of the file, which has none"
    )]
    Capabilities,
}

/// What is to be said of a Go program into which nothing can be loaded.
pub(crate) const OF_GO: &str = "so that no agent can be loaded into it, and Go's heap could not be heard anyway: it has a \
    profiler of its own (runtime/pprof, net/http/pprof), whose heap profiles `go tool pprof` shows, and `lifetrace import` \
    reads";

/// A program that can be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// What is executed.
    pub path: PathBuf,
    /// The machine code that will run: the program itself, or the interpreter of a script.
    pub image: PathBuf,
}

/// Looks whether a program, found as a shell finds it, could be recorded from its start on. It is not run.
///
/// # Errors
/// What `record` would say of it: any [`LaunchError`] but `Spawn`.
pub fn examine(name: &OsStr) -> Result<Examined, LaunchError> {
    let Program { path, image } = Program::find(name, std::env::var_os("PATH").as_deref())?;
    Ok(Examined { path, image })
}

/// How the command's environment differs from ours.
#[derive(Clone, Debug)]
pub(crate) enum Additions {
    /// It is traced by our agent.
    Agent {
        /// Ahead of whatever `LD_PRELOAD` has.
        preload: PathBuf,
        /// Where the agent finds us.
        socket: PathBuf,
    },
    /// It is traced by what it has linked in, which looks for these variables.
    Variables(Vec<(&'static str, OsString)>),
}

/// A word as the kernel wants it.
fn c_string(word: &OsStr) -> io::Result<std::ffi::CString> {
    use std::os::unix::ffi::OsStrExt;
    Ok(std::ffi::CString::new(word.as_bytes())?)
}
