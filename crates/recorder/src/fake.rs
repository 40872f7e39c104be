//! An agent as the tests play it.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use lifetrace_transport::codec::{MAX_HEAD, encode};
use lifetrace_transport::handshake::{Hello, LEN, Origin, Welcome};
use lifetrace_transport::message::{
    AllocationKind, BacktraceDelta, Body, Frames, Message, SampleId, SourceKind, ThreadId,
};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, connect, recvmsg, send, socket_with,
};

use crate::clock::monotonic_now;
use crate::shm::AgentSegment;

/// A message as one record of a ring.
pub(crate) fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut buffer = [0; MAX_HEAD];
    let encoded = encode(message, &mut buffer);
    encoded.head.iter().copied().chain(encoded.tail.bytes()).collect()
}

/// An allocation of `size` bytes with a whole backtrace, innermost frame first.
pub(crate) fn allocation(id: u64, size: u64, frames: &[u64]) -> Body<'_> {
    let fresh = Frames::Words(frames);
    let backtrace = BacktraceDelta { shared: 0, fresh, truncated: false };
    let source = SourceKind::Malloc;
    Body::Allocation {
        id: SampleId(id),
        size,
        samples: 1,
        source,
        kind: AllocationKind::Plain,
        backtrace,
    }
}

/// An allocation of `size` bytes in a young managed heap, with a whole backtrace, innermost frame first.
pub(crate) fn managed(id: u64, size: u64, frames: &[u64]) -> Body<'_> {
    match allocation(id, size, frames) {
        Body::Allocation { id, size, samples, kind, backtrace, .. } => {
            let source = SourceKind::Minor;
            Body::Allocation { id, size, samples, source, kind, backtrace }
        }
        other => other,
    }
}

/// A connected agent.
pub(crate) struct FakeAgent {
    pub(crate) segment: AgentSegment,
}

impl FakeAgent {
    /// Says hello; `None` when it is not welcome.
    pub(crate) fn connect(path: &Path) -> Option<FakeAgent> {
        let connection = knock(path);
        let hello = Hello::Begins(Origin::Exec).to_bytes();
        send(&connection, &hello, SendFlags::empty()).unwrap();
        let (words, descriptor) = receive(&connection)?;
        Some(FakeAgent { segment: AgentSegment::map(&descriptor, words.segment_bytes) })
    }

    /// Commits a message of thread 1 with the time of now; waits while the ring is full.
    pub(crate) fn say(&self, ring: usize, body: Body<'_>) {
        self.say_as(ThreadId(1), ring, body);
    }

    /// Commits a message of that thread with the time of now; waits while the ring is full.
    pub(crate) fn say_as(&self, thread: ThreadId, ring: usize, body: Body<'_>) {
        let mut buffer = [0; MAX_HEAD];
        let message = Message { time: monotonic_now(), thread, body };
        let encoded = encode(&message, &mut buffer);
        while !self.segment.push(ring, encoded.head, encoded.tail) {
            std::thread::yield_now();
        }
    }
}

/// A connection on which nothing has been said.
pub(crate) fn knock(path: &Path) -> OwnedFd {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    socket
}

fn receive(connection: &OwnedFd) -> Option<(Welcome, OwnedFd)> {
    let mut bytes = [0; LEN];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let into = &mut [IoSliceMut::new(&mut bytes)];
    recvmsg(connection, into, &mut attached, RecvFlags::CMSG_CLOEXEC).ok()?;
    let descriptor = attached.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    })?;
    Some((Welcome::from_bytes(&bytes)?, descriptor))
}
