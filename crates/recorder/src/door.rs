//! Where agents knock: the socket, and the handshake.
//!
//! The socket lies in a directory that only this user can enter. A visitor says hello within
//! [`PATIENCE`] or is shown out; nobody waits for it meanwhile. Who it is, the kernel says.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lifetrace_transport::handshake::{Hello, LEN, Welcome};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, accept_with, bind, listen, recv, sendmsg, socket_with,
    sockopt::socket_peercred,
};
use rustix::process::Pid;

use crate::wakeup::Wakeup;

/// How long a visitor may take to say hello.
const PATIENCE: Duration = Duration::from_secs(2);

/// Visitors that may wait in the kernel for their turn; it has a lower limit of its own.
const BACKLOG: i32 = 4096;

/// A bound socket; removed with its directory when this is dropped.
#[derive(Debug)]
pub struct Socket {
    listener: OwnedFd,
    path: PathBuf,
    _directory: tempfile::TempDir,
}

impl Socket {
    /// Binds a socket in a new private directory under the first of `$XDG_RUNTIME_DIR`, `$TMPDIR`
    /// and `/tmp` where that is possible.
    ///
    /// # Errors
    /// The last place's, when it is possible nowhere.
    pub fn bind() -> io::Result<Socket> {
        let places = ["XDG_RUNTIME_DIR", "TMPDIR"].into_iter().filter_map(std::env::var_os);
        let mut failure = io::Error::other("no place for a socket");
        for place in places.map(PathBuf::from).chain([PathBuf::from("/tmp")]) {
            match Socket::bind_under(&place) {
                Ok(socket) => return Ok(socket),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// What the agents' environment should say.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn bind_under(place: &Path) -> io::Result<Socket> {
        let directory = tempfile::Builder::new()
            .prefix("lifetrace-")
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir_in(std::path::absolute(place)?)?;
        let path = directory.path().join("socket");
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        bind(&listener, &SocketAddrUnix::new(&path)?)?;
        listen(&listener, BACKLOG)?;
        Ok(Socket { listener, path, _directory: directory })
    }
}

/// Serves a socket.
pub(crate) struct Door {
    socket: Socket,
    stop: Arc<Wakeup>,
    visitors: Vec<Visitor>,
}

struct Visitor {
    connection: OwnedFd,
    until: Instant,
}

impl Door {
    pub(crate) fn new(socket: Socket, stop: Arc<Wakeup>) -> Door {
        Door { socket, stop, visitors: Vec::new() }
    }

    /// Runs until `stop` is raised. `admit` makes a session for a process and returns the segment's
    /// descriptor and length, or nothing if the process is not to be traced.
    pub(crate) fn serve(mut self, mut admit: impl FnMut(Pid) -> Option<(OwnedFd, u64)>) {
        while let Some(ready) = self.wait() {
            self.accept_all();
            for index in ready.into_iter().rev() {
                let visitor = self.visitors.swap_remove(index);
                // One that goes away in the middle of it is not traced.
                let _ = greet(&visitor.connection, &mut admit);
            }
            let now = Instant::now();
            self.visitors.retain(|visitor| visitor.until > now);
        }
    }

    /// Waits until somebody comes, speaks or has stayed too long. Returns the indices of those who
    /// speak, in growing order; `None` when it is time to stop.
    fn wait(&self) -> Option<Vec<usize>> {
        let visitors = self.visitors.iter().map(|visitor| visitor.connection.as_fd());
        let mut polled: Vec<PollFd<'_>> = [self.stop.as_fd(), self.socket.listener.as_fd()]
            .into_iter()
            .chain(visitors)
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
            .collect();
        match poll(&mut polled, self.next_deadline().as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Some(Vec::new()),
            Err(_) => return None,
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let [stop, _, visitors @ ..] = polled.as_slice() else { return None };
        let ready = visitors.iter().enumerate().filter(|(_, fd)| is_ready(fd));
        (!is_ready(stop)).then(|| ready.map(|(index, _)| index).collect())
    }

    fn next_deadline(&self) -> Option<Timespec> {
        let until = self.visitors.iter().map(|visitor| visitor.until).min()?;
        let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        left.try_into().ok()
    }

    /// New visitors go to the end, so that indices stay right.
    fn accept_all(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while let Ok(connection) = accept_with(&self.socket.listener, flags) {
            self.visitors.push(Visitor { connection, until: Instant::now() + PATIENCE });
        }
    }
}

/// Answers one hello. The connection is closed by the caller, which is the answer to those who are
/// not welcome.
fn greet(
    connection: &OwnedFd,
    admit: &mut impl FnMut(Pid) -> Option<(OwnedFd, u64)>,
) -> io::Result<()> {
    let mut bytes = [0; LEN + 1];
    let (received, _) = recv(connection, &mut bytes[..], RecvFlags::empty())?;
    if Hello::from_bytes(&bytes[..received]).is_none() {
        return Ok(());
    }
    let visitor = socket_peercred(connection)?.pid;
    if let Some((segment, segment_bytes)) = admit(visitor) {
        welcome(connection, &segment, Welcome { segment_bytes })?;
    }
    Ok(())
}

fn welcome(connection: &OwnedFd, segment: &OwnedFd, words: Welcome) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    let descriptors = [segment.as_fd()];
    attached.push(SendAncillaryMessage::ScmRights(&descriptors));
    let bytes = words.to_bytes();
    sendmsg(connection, &[io::IoSlice::new(&bytes)], &mut attached, SendFlags::NOSIGNAL)?;
    Ok(())
}
