//! The end of an attachment: what was written over is put back, in the process and in those that it has forked.
//!
//! The library has noted in each of them what was where, so anybody who may write there can do it: a recorder that has been
//! killed is not needed.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use lifetrace_transport::attach::{Jump, Told};
use lifetrace_transport::segment::SegmentHeader;
use rustix::process::Pid;

use super::error::AttachError;
use super::jumps;
use super::library::Library;
use super::look::look;
use super::memory::{Memory, modules};
use super::terms::Detached;
use crate::maps;
use crate::peer::Peer;
use crate::requests::{exchange, reach, request_release, socket_in, understand_release};

/// A recorder that has been asked to end has this time to write its traces.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ends the recording of a process that somebody has attached to.
///
/// # Errors
/// [`AttachError`].
pub fn detach(pid: u32) -> Result<Detached, AttachError> {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let process = raw.ok_or(AttachError::NoProcess)?;
    look(process)?;
    let Found { jumps, path, .. } = found(process)?.ok_or(AttachError::NotAttached)?;
    if path.is_empty() {
        return Err(AttachError::NotAttached);
    }
    match recorder_at(&path) {
        Some(recorder) => ask_to_end(process, &path, recorder),
        None if in_place(process, &jumps) => {
            take_back_everywhere(process).map(|()| Detached::WithoutRecorder)
        }
        None => Err(AttachError::NotAttached),
    }
}

fn ask_to_end(process: Pid, path: &[u8], recorder: u32) -> Result<Detached, AttachError> {
    let request = request_release(process.as_raw_nonzero().get() as u32);
    let answer = exchange(Path::new(std::ffi::OsStr::from_bytes(path)), &request);
    let answer = answer.map_err(AttachError::Recorder)?;
    understand_release(&answer).map_err(AttachError::Refused)?;
    let until = Instant::now() + PATIENCE;
    while recorder_at(path).is_some()
        || Path::new(&format!("/proc/{recorder}/task")).exists() && still(process)
    {
        if Instant::now() > until {
            return Err(AttachError::Refused(format!(
                "process {recorder}, which records it, has been asked to end, and has not done so within 60 s"
            )));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(Detached::ByRecorder(recorder))
}

/// Whether jumps are in place.
fn still(process: Pid) -> bool {
    found(process).ok().flatten().is_some_and(|it| in_place(process, &it.jumps))
}

fn in_place(process: Pid, jumps: &[Jump]) -> bool {
    Memory::open(process).is_ok_and(|memory| jumps::are_in_place(&memory, jumps))
}

/// The library in a process.
struct Found {
    library: Library,
    /// What it has told.
    jumps: Vec<Jump>,
    /// Where its last recorder listens.
    path: Vec<u8>,
}

fn found(pid: Pid) -> Result<Option<Found>, AttachError> {
    let memory = Memory::open(pid).map_err(AttachError::System)?;
    let Some(library) = Library::find(&memory, &modules(pid, &memory))? else { return Ok(None) };
    let copied = library.copy(&memory)?;
    let told = Told::of(&copied).ok_or(AttachError::OtherVersion)?;
    let (jumps, path) = (told.jumps().collect(), told.path().to_vec());
    Ok(Some(Found { library, jumps, path }))
}

/// Puts back what was written over in a process, and in all that have the same library: it is in no others than those that
/// the process has forked.
///
/// # Errors
/// [`AttachError`], of the process itself. What has ended needs nothing.
pub(super) fn take_back_everywhere(pid: Pid) -> Result<(), AttachError> {
    let own = library_file(pid);
    let result = match take_back(pid) {
        Err(_) if !Path::new(&format!("/proc/{}", pid.as_raw_nonzero())).exists() => Ok(()),
        result => result,
    };
    if let Some(own) = own {
        for other in processes().filter(|&it| it != pid && library_file(it).as_ref() == Some(&own))
        {
            // It may have ended, or be another user's by now.
            let _ = take_back(other);
        }
    }
    result
}

fn take_back(pid: Pid) -> Result<(), AttachError> {
    let memory = Memory::open(pid).map_err(AttachError::System)?;
    end_sessions(pid, &memory);
    match found(pid)? {
        Some(Found { library, jumps, .. }) if jumps::are_in_place(&memory, &jumps) => {
            jumps::take_back(pid, &memory, &jumps, &library).map(drop)
        }
        _ => Ok(()),
    }
}

/// Tells the agent that nobody listens, if a recorder that was killed has not: so what it has of a runtime's is given back at
/// its next safe place.
fn end_sessions(pid: Pid, memory: &Memory) {
    let mapped = maps::read(format!("/proc/{}", pid.as_raw_nonzero()).as_ref()).unwrap_or_default();
    for session in mapped.iter().filter(|it| it.is_session()) {
        // It fails if the process has ended.
        let _ = memory.write(session.range.start + SegmentHeader::STOPPED_AT, &1u32.to_le_bytes());
    }
}

/// The device and the number of the library's file, which is memory of one process's own, and of those that it has forked.
fn library_file(pid: Pid) -> Option<String> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", pid.as_raw_nonzero())).ok()?;
    let line = maps.lines().find(|line| line.contains("/memfd:liblifetrace.so"))?;
    let mut fields = line.split_ascii_whitespace().skip(3);
    Some(format!("{} {}", fields.next()?, fields.next()?))
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|it| Pid::from_raw(it.file_name().to_str()?.parse().ok()?))
}

/// The recorder that listens there.
pub(super) fn recorder_at(path: &[u8]) -> Option<u32> {
    let connection = reach(Path::new(std::ffi::OsStr::from_bytes(path))).ok()?;
    let recorder = Peer::of(&connection).ok()?.pid;
    Some(recorder.as_raw_nonzero().get() as u32)
}

/// The recorder that a process was told of at its start.
pub(super) fn socket_of_start(pid: Pid) -> Option<Vec<u8>> {
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).ok()?;
    Some(socket_in(&environment)?.as_os_str().as_bytes().to_vec())
}
