//! Why a process cannot be attached to, in words that say what to do.

use std::io;
use std::path::PathBuf;

use crate::collector::CollectorError;
use crate::container::is_in_container;
use crate::launch::OF_GO;
use crate::output_error::OutputError;

/// Why nothing is recorded. Nothing in the process has been changed, or it has been changed back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// Another processor than amd64.
    #[error(
        "attaching is possible on x86-64 alone so far; start the program by `lifetrace record`"
    )]
    OtherProcessor,
    /// No such process.
    #[error("there is no such process")]
    NoProcess,
    /// The process is ours.
    #[error("that is this command itself")]
    Oneself,
    /// It is the number of another thread than the first.
    #[error("that is a thread of process {0}: attach to the process")]
    Thread(u32),
    /// It has no memory of its own.
    #[error("that is a thread of the kernel's, which has no allocator")]
    Kernel,
    /// It has ended, and its parent has not asked how.
    #[error("it has ended, and is there only until its parent asks how")]
    Zombie,
    /// It has ended meanwhile.
    #[error("it ended before it was attached to")]
    Ended,
    /// By a signal.
    #[error("it is stopped (by Ctrl-Z, or SIGSTOP): continue it first, by `kill -CONT {0}`")]
    Stopped(u32),
    /// By a debugger or its like.
    #[error("it is traced by process {0} already (a debugger, strace or the like): end that first")]
    Traced(u32),
    /// By a recorder, which ends that by itself.
    #[error("process {0}, a lifetrace, is looking through its memory: try again in a moment")]
    LookedThrough(u32),
    /// `kernel.yama.ptrace_scope`
    #[error(
        "the kernel lets nobody trace but their own children (kernel.yama.ptrace_scope is {0}): {advice}",
        advice = yama_advice(*.0)
    )]
    Yama(u8),
    /// Another user's.
    #[error("it belongs to {0}: try sudo, or as that user")]
    OtherUser(String),
    /// Another reason of the kernel's.
    #[error(
        "the kernel does not permit to trace it: it is set-user-id, or has made itself undumpable, or has more \
         capabilities than you: {}",
        rights_advice(*.is_root, *.in_container)
    )]
    NotPermitted {
        /// This command runs as root.
        is_root: bool,
        /// This command runs in a container.
        in_container: bool,
    },
    /// Word size.
    #[error("it is a 32-bit program, or of another processor; lifetrace attaches to x86-64 ones")]
    OtherMachine,
    /// No `/proc` in its root directory.
    #[error(
        "there is no /proc in its root directory, through which the agent would be loaded into it: \
         `mount -t proc proc /proc/{0}/root/proc`, if there is such a folder"
    )]
    NoProc(u32),
    /// No dynamic linker.
    #[error(
        "it is statically linked: nothing can be loaded into it; a Rust program can record itself by the crate \
         lifetrace"
    )]
    Static,
    /// No dynamic linker, and Go's allocator.
    #[error("it is a statically linked Go program, {OF_GO}")]
    Go,
    /// Another C library.
    #[error("it uses the musl C library, and the agent needs the GNU one")]
    Musl,
    /// No C library that is known.
    #[error("no GNU C library is found in it")]
    NoLibc,
    /// The C library lacks a function.
    #[error(
        "its C library has no {0}: it is older than those that can be attached to (glibc 2.34)"
    )]
    OldLibc(&'static str),
    /// Nothing is blank behind any code.
    #[error("there is no room in it for the few instructions that begin an attachment")]
    NoRoom,
    /// Its text cannot be written.
    #[error("the kernel does not let its code be written to: {0}")]
    Unwritable(io::Error),
    /// No thread is where it may be borrowed.
    #[error(
        "no thread of it came to a place where it could be borrowed within 10 s, mostly: {0}; nothing was changed, and \
         another attempt may succeed"
    )]
    NeverSafe(String),
    /// One of its threads could not be stopped.
    #[error(
        "one of its threads could not be stopped: it waits within the kernel for a disk or a device, or the machine \
         is very busy"
    )]
    Busy,
    /// A thread amid the first instructions of malloc cannot be led past them.
    #[error(
        "one of its threads stays amid the first instructions of its allocator; another attempt may succeed"
    )]
    Amid,
    /// `mmap` has failed.
    #[error("it has no memory left, or may not map any, or has too many files open")]
    NoMemory,
    /// `pthread_create` has failed.
    #[error("it may not start another thread: {0}")]
    NoThread(io::Error),
    /// The worker does not answer.
    #[error(
        "what was to be done in it has not been done within 10 s: one of its threads holds a lock of the C library's; \
         nothing is recorded"
    )]
    Silent,
    /// The library could not be loaded.
    #[error("the agent cannot be loaded into it: {0}")]
    NotLoaded(String),
    /// Another version of the library is in it.
    #[error(
        "the agent of another version of lifetrace is in it: use that version, or restart the program"
    )]
    OtherVersion,
    /// It is recorded already.
    #[error(
        "it is being recorded already{}: `lifetrace ps` shows where its trace is, `lifetrace detach PID` ends a recording by \
         `lifetrace attach`",
        by_whom(*.0)
    )]
    Recorded(Option<u32>),
    /// Its malloc cannot be heard.
    #[error("{0}")]
    Unheard(String),
    /// The agent has found something other than the recorder.
    #[error("its allocator's code is not what its file has, or there is no room near it")]
    Unpatched,
    /// The traces.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Something of ours.
    #[error("cannot start the recorder: {0}")]
    Recorder(io::Error),
    /// Why it was not let in.
    #[error("{0}")]
    Refused(String),
    /// Anything else.
    #[error("{0}")]
    System(io::Error),
    /// Nothing to detach from.
    #[error("it is not attached to")]
    NotAttached,
    /// A trace that was begun could not be removed.
    #[error("{error}; {path} was begun, and could not be removed", path = .path.display())]
    Remains {
        /// What went wrong.
        error: Box<AttachError>,
        /// The trace.
        path: PathBuf,
    },
}

impl From<crate::stop::StopError> for AttachError {
    fn from(error: crate::stop::StopError) -> Self {
        use crate::stop::StopError;
        match error {
            StopError::NotPermitted => AttachError::NotPermitted {
                is_root: rustix::process::geteuid().is_root(),
                in_container: is_in_container(),
            },
            StopError::Traced(pid) => AttachError::Traced(pid),
            StopError::Gone => AttachError::Ended,
            StopError::Busy => AttachError::Busy,
            StopError::System(error) => AttachError::System(error),
        }
    }
}

impl From<CollectorError> for AttachError {
    fn from(error: CollectorError) -> Self {
        match error {
            CollectorError::Output(error) => AttachError::Output(error),
            CollectorError::System(error) => AttachError::Recorder(error),
            CollectorError::Gone => AttachError::Ended,
        }
    }
}

fn yama_advice(scope: u8) -> &'static str {
    match scope {
        1 => "run this as root, or `sysctl kernel.yama.ptrace_scope=0`",
        2 => "run this as root, or with CAP_SYS_PTRACE",
        _ => "that stays so until the system is restarted",
    }
}

fn rights_advice(is_root: bool, in_container: bool) -> &'static str {
    match (is_root, in_container) {
        (false, false) => "try sudo",
        (false, true) => "try sudo, or give this container --cap-add SYS_PTRACE",
        (true, false) => {
            "this root has no CAP_SYS_PTRACE, or a security module forbids it; try as root outside of this sandbox"
        }
        (true, true) => {
            "give this container --cap-add SYS_PTRACE, or run lifetrace as root outside of the container"
        }
    }
}

fn by_whom(recorder: Option<u32>) -> String {
    recorder.map_or_else(String::new, |pid| format!(", by process {pid}"))
}
