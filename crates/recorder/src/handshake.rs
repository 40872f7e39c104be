//! The handshake with agents that connect.
//!
//! A client says hello within [`PATIENCE`] or is disconnected; nobody waits for it meanwhile. Who it is,
//! the kernel says.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lifetrace_transport::handshake::{Hello, LEN, Origin, Welcome, version_of};
use lifetrace_transport::segment::PROTOCOL_VERSION;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, accept_with,
    recv, sendmsg,
};
use rustix::process::Uid;

use crate::peer::{Peer, PeerError};
use crate::socket::Socket;
use crate::wakeup::Wakeup;

/// How long a client may take to say hello.
const PATIENCE: Duration = Duration::from_secs(2);

/// Until there may be descriptors again.
const WITHOUT_DESCRIPTORS: Duration = Duration::from_millis(50);

/// Who decides about clients. Their connections are to be read from and written to as they are made: they do not wait.
pub(crate) trait Host {
    /// Makes a session for a client, and returns the segment's descriptor and length, or nothing if the process is not to
    /// be traced.
    fn admit(&mut self, client: Peer, origin: Origin) -> Option<(OwnedFd, u64)>;

    /// A process has come that cannot be seen from here, of this user.
    fn refuse_unseen(&mut self, user: Uid);

    /// Somebody who speaks another version of the protocol has come.
    fn refuse_version(&mut self, client: Peer, version: u32);

    /// A client has gone before it could be told that it has a session.
    fn give_up(&mut self, client: Peer);

    /// Takes in a child that comes to tell of a heap.
    fn take_in(&mut self, client: Peer, token: u64, connection: OwnedFd);

    /// A process is about to end, and waits until that is noticed.
    fn wake(&mut self);

    /// Hears somebody who wants something.
    fn hear(&mut self, client: Peer, connection: OwnedFd);
}

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

    /// Runs until `stop` is raised.
    pub(crate) fn serve(mut self, host: &mut impl Host) {
        while let Some(ready) = self.wait() {
            self.accept_all();
            for index in ready.into_iter().rev() {
                let client = self.clients.swap_remove(index);
                // One that goes away in the middle of it is not traced.
                let _ = greet(client.connection, host);
            }
            let now = Instant::now();
            self.clients.retain(|client| client.until > now);
        }
        self.accept_all();
        self.clients.into_iter().for_each(|client| take_leave(client.connection, host));
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
            loop {
                match accept_with(listener, flags) {
                    Ok(connection) => {
                        let until = Instant::now() + PATIENCE;
                        self.clients.push(Client { connection, until });
                    }
                    // Whoever has connected stays at the door, which would wake us again at once.
                    Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {
                        break std::thread::sleep(WITHOUT_DESCRIPTORS);
                    }
                    Err(_) => break,
                }
            }
        }
    }
}

/// Answers one hello. The connection is closed by the caller, which is the answer to those who are
/// not welcome.
fn greet(connection: OwnedFd, host: &mut impl Host) -> io::Result<()> {
    let mut bytes = [0; LEN + 1];
    let (received, _) = recv(&connection, &mut bytes[..], RecvFlags::empty())?;
    let client = match Peer::of(&connection) {
        Err(PeerError::Unseen(user)) => {
            host.refuse_unseen(user);
            return Ok(());
        }
        client => client?,
    };
    let Some(hello) = Hello::from_bytes(&bytes[..received]) else {
        let version = version_of(&bytes[..received]).filter(|version| *version != PROTOCOL_VERSION);
        version.into_iter().for_each(|version| host.refuse_version(client, version));
        return Ok(());
    };
    match hello {
        Hello::Session(origin) => {
            if let Some((segment, segment_bytes)) = host.admit(client, origin) {
                let welcomed = welcome(&connection, &segment, Welcome { segment_bytes });
                if welcomed.is_err() {
                    // It has not waited for that.
                    host.give_up(client);
                }
                welcomed?;
            }
        }
        Hello::Snapshot(token) => host.take_in(client, token, connection),
        Hello::Request => host.hear(client, connection),
        Hello::Leaving => host.wake(),
    }
    Ok(())
}

/// At the end: a process that is gone may have left a child that has something to tell. Nobody else is let in.
fn take_leave(connection: OwnedFd, host: &mut impl Host) {
    let mut bytes = [0; LEN + 1];
    if let Ok((received, _)) = recv(&connection, &mut bytes[..], RecvFlags::empty())
        && let Some(Hello::Snapshot(token)) = Hello::from_bytes(&bytes[..received])
        && let Ok(client) = Peer::of(&connection)
    {
        host.take_in(client, token, connection);
    }
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
