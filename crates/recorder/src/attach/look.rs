//! What can be seen of a process before anything is done to it: whether it could be attached to.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, geteuid, getpid};

use super::error::AttachError;
use crate::container::is_in_container;

/// A process that nothing speaks against yet.
#[derive(Debug)]
pub(super) struct Seen {
    /// Where its program begins.
    pub(super) entry: u64,
    /// It filters its system calls.
    pub(super) is_filtered: bool,
}

/// A recorder that looks through a process is done with it within this time, but for very large ones.
const PATIENCE: Duration = Duration::from_secs(5);

/// Looks. Waits a while for a recorder that looks through the process.
///
/// # Errors
/// [`AttachError`], if it is known already that it cannot be.
pub(super) fn look(pid: Pid) -> Result<Seen, AttachError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match look_once(pid) {
            Err(AttachError::LookedThrough(_)) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

fn look_once(pid: Pid) -> Result<Seen, AttachError> {
    let folder = format!("/proc/{}", pid.as_raw_nonzero());
    let number = pid.as_raw_nonzero().get() as u32;
    if pid == getpid() {
        return Err(AttachError::Oneself);
    }
    let status = fs::read_to_string(format!("{folder}/status")).map_err(missing)?;
    let line = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let count = |key| line(key).and_then(|it| it.parse::<u32>().ok());
    if let Some(group) = count("Tgid:").filter(|&group| group != number) {
        return Err(AttachError::Thread(group));
    }
    match line("State:").and_then(|it| it.chars().next()) {
        Some('Z' | 'X') => return Err(AttachError::Zombie),
        Some('T') => return Err(AttachError::Stopped(number)),
        _ => {}
    }
    if let Some(tracer) = count("TracerPid:").filter(|&tracer| tracer != 0) {
        return Err(match recorder_of_thread(tracer) {
            Some(recorder) => AttachError::LookedThrough(recorder),
            None => AttachError::Traced(tracer),
        });
    }
    if line("VmSize:").is_none() {
        return Err(AttachError::Kernel);
    }
    may_trace(pid, &folder)?;
    check_program(&folder)?;
    if fs::symlink_metadata(format!("{folder}/root/proc/self")).is_err() {
        return Err(AttachError::NoProc(number));
    }
    let entry = auxiliary(&folder, AT_ENTRY).ok_or(AttachError::OtherMachine)?;
    Ok(Seen { entry, is_filtered: count("Seccomp:") == Some(2) })
}

/// The process of a thread that traces another one, if that is a lifetrace.
fn recorder_of_thread(tracer: u32) -> Option<u32> {
    let program = fs::read_link(format!("/proc/{tracer}/exe")).ok()?;
    let status = fs::read_to_string(format!("/proc/{tracer}/status")).ok()?;
    let process =
        status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()?;
    // One that was replaced while it runs is "lifetrace (deleted)".
    program.file_name()?.as_bytes().starts_with(b"lifetrace").then_some(process)
}

fn missing(error: io::Error) -> AttachError {
    match error.kind() {
        io::ErrorKind::NotFound => AttachError::NoProcess,
        _ => AttachError::System(error),
    }
}

/// The kernel lets those read a process's memory who may trace it.
fn may_trace(pid: Pid, folder: &str) -> Result<(), AttachError> {
    let opened = fs::File::options().read(true).write(true).open(format!("{folder}/mem"));
    let Err(error) = opened else { return may_attach(pid) };
    match error.kind() {
        io::ErrorKind::PermissionDenied => Err(refusal(folder)),
        io::ErrorKind::NotFound => Err(AttachError::NoProcess),
        _ => Err(AttachError::System(error)),
    }
}

/// Yama forbids more than to read.
fn may_attach(pid: Pid) -> Result<(), AttachError> {
    let is_root = geteuid().is_root();
    match yama() {
        0 => Ok(()),
        scope @ 1..=2 if !is_root && !descends_from_us(pid) => Err(AttachError::Yama(scope)),
        1..=2 => Ok(()),
        scope => Err(AttachError::Yama(scope)),
    }
}

fn refusal(folder: &str) -> AttachError {
    let scope = yama();
    let owner = Path::new(folder).metadata().map(|it| it.uid()).ok();
    match owner {
        _ if scope > 2 => AttachError::Yama(scope),
        Some(owner) if owner != geteuid().as_raw() && !geteuid().is_root() => {
            AttachError::OtherUser(user_name(owner))
        }
        _ if scope > 0 && !geteuid().is_root() => AttachError::Yama(scope),
        _ => AttachError::NotPermitted {
            is_root: geteuid().is_root(),
            in_container: is_in_container(),
        },
    }
}

fn yama() -> u8 {
    let text = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

fn descends_from_us(pid: Pid) -> bool {
    std::iter::successors(Some(pid), |&pid| crate::process::parent_of(pid)).any(|it| it == getpid())
}

/// By name where that is known.
fn user_name(number: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number)).then_some(name)
    });
    name.map_or_else(|| format!("user {number}"), |name| format!("user {name}"))
}

/// Whether something can be loaded into what it runs.
fn check_program(folder: &str) -> Result<(), AttachError> {
    use crate::launch::{Image, Untraceable, image, is_of_go};
    let Ok(program) = fs::File::open(format!("{folder}/exe")) else { return Ok(()) };
    match image(&program) {
        Ok(Image::Untraceable(Untraceable::Static)) if is_of_go(&program) => Err(AttachError::Go),
        Ok(Image::Untraceable(Untraceable::Static | Untraceable::StaticRuntime(_))) => {
            Err(AttachError::Static)
        }
        Ok(Image::Untraceable(Untraceable::Musl)) => Err(AttachError::Musl),
        Ok(Image::Untraceable(Untraceable::OtherMachine(_))) => Err(AttachError::OtherMachine),
        Ok(Image::Untraceable(Untraceable::Sanitized(library))) => {
            Err(AttachError::Unheard(format!(
                "it is linked with a sanitizer's shared library ({library}), which has an allocator that cannot be heard"
            )))
        }
        // A file that cannot be read says nothing against the process.
        _ => Ok(()),
    }
}

const AT_ENTRY: u64 = 9;

fn auxiliary(folder: &str, kind: u64) -> Option<u64> {
    let vector = fs::read(format!("{folder}/auxv")).ok()?;
    let mut words =
        vector.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
    while let (Some(found), Some(value)) = (words.next(), words.next()) {
        if found == kind {
            return Some(value);
        }
    }
    None
}
