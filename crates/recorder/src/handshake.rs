//! The handshake with agents that connect.
//!
//! A client says hello within [`PATIENCE`] or is disconnected; nobody waits for it meanwhile. Who it is,
//! the kernel says.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lifetrace_transport::handshake::{Hello, LEN, Welcome};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, UCred,
    accept_with, recv, sendmsg, sockopt::socket_peercred,
};

use crate::socket::Socket;
use crate::wakeup::Wakeup;

/// How long a client may take to say hello.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves the recorder's socket.
pub(crate) struct HandshakeServer {
    socket: Socket,
    stop: Arc<Wakeup>,
    clients: Vec<Client>,
}

struct Client {
    connection: OwnedFd,
    until: Instant,
}

impl HandshakeServer {
    pub(crate) fn new(socket: Socket, stop: Arc<Wakeup>) -> HandshakeServer {
        HandshakeServer { socket, stop, clients: Vec::new() }
    }

    /// Runs until `stop` is raised. `attend` makes a session for a client and returns the segment's
    /// descriptor and length, or nothing if the process is not to be traced, or wants none.
    pub(crate) fn serve(mut self, mut attend: impl FnMut(UCred, Hello) -> Option<(OwnedFd, u64)>) {
        while let Some(ready) = self.wait() {
            self.accept_all();
            for index in ready.into_iter().rev() {
                let client = self.clients.swap_remove(index);
                // One that goes away in the middle of it is not traced.
                let _ = greet(&client.connection, &mut attend);
            }
            let now = Instant::now();
            self.clients.retain(|client| client.until > now);
        }
    }

    /// Waits until a client connects, sends or has taken too long. Returns the indices of those that
    /// send, in growing order; `None` when it is time to stop.
    fn wait(&self) -> Option<Vec<usize>> {
        let clients = self.clients.iter().map(|client| client.connection.as_fd());
        let mut polled: Vec<PollFd<'_>> = [self.stop.as_fd()]
            .into_iter()
            .chain(clients)
            .chain(self.socket.listeners())
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
            .collect();
        match poll(&mut polled, self.next_deadline().as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Some(Vec::new()),
            Err(_) => return None,
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let (stop, others) = polled.split_first()?;
        let clients = others.iter().take(self.clients.len());
        let ready = clients.enumerate().filter(|(_, fd)| is_ready(fd));
        (!is_ready(stop)).then(|| ready.map(|(index, _)| index).collect())
    }

    fn next_deadline(&self) -> Option<Timespec> {
        let until = self.clients.iter().map(|client| client.until).min()?;
        let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        left.try_into().ok()
    }

    /// New clients go to the end, so that indices stay right.
    fn accept_all(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        for listener in self.socket.listeners() {
            while let Ok(connection) = accept_with(listener, flags) {
                self.clients.push(Client { connection, until: Instant::now() + PATIENCE });
            }
        }
    }
}

/// Answers one hello. The connection is closed by the caller, which is the answer to those who are
/// not welcome.
fn greet(
    connection: &OwnedFd,
    attend: &mut impl FnMut(UCred, Hello) -> Option<(OwnedFd, u64)>,
) -> io::Result<()> {
    let mut bytes = [0; LEN + 1];
    let (received, _) = recv(connection, &mut bytes[..], RecvFlags::empty())?;
    let Some(hello) = Hello::from_bytes(&bytes[..received]) else { return Ok(()) };
    if let Some((segment, segment_bytes)) = attend(socket_peercred(connection)?, hello) {
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
