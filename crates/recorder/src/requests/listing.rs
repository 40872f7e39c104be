//! The recorders of this machine, and what they are recording, for commands that want to know.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lifetrace_trace::ids::Timestamp;
use lifetrace_transport::handshake::Hello;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::process::geteuid;

use super::asking::{AskError, ROOM, reach, socket_in};
use super::listed::{Recorded, Said, now, request, understand};
use crate::peer::Peer;
use crate::process::ProcessImage;
use crate::socket::{PREFIX, within_reach};
use crate::stat::Stat;

/// A recorder that is stopped does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Of a listening socket, among the flags that the kernel tells.
const LISTENS: u32 = 1 << 16;

/// A recorder that runs, and what it is recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorder {
    /// Its process.
    pub pid: u32,
    /// Its command line, quoted as for a shell.
    pub command: String,
    /// When its process began, if that is known.
    pub since: Option<Timestamp>,
    /// What it is recording.
    pub recorded: Recorded,
    /// Where it listens.
    socket: PathBuf,
}

/// All recorders of this machine that answer this user, by their processes' numbers. Those of other users are left out,
/// but for root.
pub fn recorders() -> Vec<Recorder> {
    let mut found: Vec<Recorder> = Vec::new();
    for socket in all_sockets() {
        // What listens there no more, or does not answer, is no recorder.
        if let Ok(recorder) = ask_at(&socket, false)
            && found.iter().all(|known| known.pid != recorder.pid)
        {
            found.push(recorder);
        }
    }
    found.sort_unstable_by_key(|recorder| recorder.pid);
    found
}

/// What the recorder of a process is recording. If `watches` is true, its traces are written sooner for a moment, so that
/// they can be read while they grow.
///
/// # Errors
/// [`AskError`].
pub fn recorder_of(pid: u32, watches: bool) -> Result<Recorder, AskError> {
    let socket = socket_of(pid).map_err(|error| AskError::NoProcess { pid, error })?;
    let by_environment = socket.map(|socket| ask_at(&socket, watches));
    if let Some(Ok(recorder)) = by_environment
        && recorder.records(pid)
    {
        return Ok(recorder);
    }
    // What was not started by its recorder does not know of it.
    let is_recorder = |it: &Recorder| it.records(pid);
    recorders().into_iter().find(is_recorder).ok_or(AskError::NotRecorded(pid))
}

impl Recorder {
    /// Whether a process is among those that it is recording.
    pub fn records(&self, pid: u32) -> bool {
        self.recorded.sessions.iter().any(|session| session.pid == pid)
    }

    /// Asks it again; traces are written sooner for a moment.
    ///
    /// # Errors
    /// If it has gone.
    pub fn ask_again(&self) -> io::Result<Recorder> {
        ask_at(&self.socket, true)
    }

    /// Where one finds a file of the recorder's, which may see another part of the file system.
    pub fn path_of(&self, file: &Path) -> PathBuf {
        if file.exists() {
            return file.to_owned();
        }
        let root = PathBuf::from(format!("/proc/{}/root", self.pid));
        let there = root.join(file.strip_prefix("/").unwrap_or(file));
        if there.exists() { there } else { file.to_owned() }
    }
}

/// Where the recorder of a process listens, as the process was told at its start; nothing if it was not.
fn socket_of(pid: u32) -> io::Result<Option<PathBuf>> {
    Ok(socket_in(&fs::read(format!("/proc/{pid}/environ"))?))
}

/// The next packet of an answer.
fn hear(connection: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut answer = vec![0; ROOM];
    let (length, _) = recv(connection, &mut answer[..], RecvFlags::empty())?;
    answer.truncate(length);
    match answer.is_empty() {
        true => Err(io::ErrorKind::ConnectionAborted.into()),
        false => Ok(answer),
    }
}

fn ask_at(socket: &Path, watches: bool) -> io::Result<Recorder> {
    let connection = reach(socket)?;
    set_socket_timeout(&connection, Timeout::Recv, Some(PATIENCE))?;
    send(&connection, &Hello::Request.to_bytes(), SendFlags::NOSIGNAL)?;
    send(&connection, &request(watches), SendFlags::NOSIGNAL)?;
    let peer = Peer::of(&connection)?;
    let (own, is_root) = (geteuid(), geteuid().is_root());
    if peer.uid != own && !is_root {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut recorded = Recorded::default();
    loop {
        let answer = hear(&connection)?;
        match understand(&answer).ok_or(io::ErrorKind::InvalidData)? {
            Said::Session(session) => recorded.sessions.push(session),
            Said::End(begun) => {
                recorded.begun = begun;
                break;
            }
        }
    }
    let stat = Stat::read(peer.pid);
    let since = stat.and_then(|stat| stat.age()).map(|age| {
        let age = u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
        Timestamp(now().0.saturating_sub(age))
    });
    let (pid, command) =
        (peer.pid.as_raw_nonzero().get() as u32, ProcessImage::read(peer.pid).command_line());
    Ok(Recorder { pid, command, since, recorded, socket: socket.to_owned() })
}

/// Where recorders of this machine may listen, as far as this user can see: some may be there twice, or be over.
pub(crate) fn all_sockets() -> Vec<PathBuf> {
    let listed = fs::read("/proc/net/unix").unwrap_or_default();
    let mut sockets: Vec<_> = listed.split(|&byte| byte == b'\n').filter_map(listening).collect();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    sockets.extend(pids.filter_map(|pid| socket_of(pid).ok().flatten()).chain(within_reach()));
    sockets.sort_unstable();
    sockets.dedup();
    sockets
}

/// The address in a line of `/proc/net/unix`, if a recorder may listen there. What lies in a folder has a twin
/// that does not, but where the kernel has none.
fn listening(line: &[u8]) -> Option<PathBuf> {
    let mut words = line.splitn(8, |&byte| byte == b' ');
    let flags = words.nth(3).and_then(|word| str::from_utf8(word).ok())?;
    let address = words.nth(3)?;
    // Inodes are set in columns.
    let address = &address[address.iter().position(|&byte| matches!(byte, b'@' | b'/'))?..];
    let is_ours = address.windows(PREFIX.len()).any(|part| part == PREFIX.as_bytes());
    let listens = u32::from_str_radix(flags, 16).is_ok_and(|flags| flags & LISTENS != 0);
    (listens && is_ours).then(|| OsString::from_vec(address.to_vec()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_in_the_kernels_list() {
        let line = |flags, address| {
            listening(
                format!("0000000000000000: 00000002 00000000 {flags} 0005 01    {address}")
                    .as_bytes(),
            )
        };
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(line("00010000", "41 @/tmp/lifetrace-a b"), path("@/tmp/lifetrace-a b"));
        assert_eq!(
            line("00010000", "123456 /tmp/lifetrace-x/socket"),
            path("/tmp/lifetrace-x/socket")
        );
        assert_eq!(line("00000000", "123456 @/tmp/lifetrace-x"), None);
        assert_eq!(line("00010000", "123456 /run/other"), None);
        assert_eq!(line("00010000", "123456"), None);
        assert_eq!(listening(b"Num       RefCount Protocol Flags    Type St Inode Path"), None);
    }
}
