//! Who is at the other end of a connection, as the kernel says.

use std::io;
use std::os::fd::AsFd;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::process::{Pid, Uid};

/// A process, as it was when it connected or began to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) pid: Pid,
    pub(crate) uid: Uid,
}

/// Why nothing can be done for a peer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PeerError {
    /// It is in a PID namespace that is neither ours nor within ours (pid_namespaces(7)).
    #[error("it is in a PID namespace that cannot be seen from here")]
    Unseen(Uid),
    #[error(transparent)]
    System(#[from] io::Error),
}

impl Peer {
    /// # Errors
    /// [`PeerError`].
    pub(crate) fn of(connection: &impl AsFd) -> Result<Peer, PeerError> {
        let told = getsockopt(connection, PeerCredentials).map_err(io::Error::from)?;
        let uid = Uid::from_raw(told.uid());
        let pid = Pid::from_raw(told.pid()).ok_or(PeerError::Unseen(uid))?;
        Ok(Peer { pid, uid })
    }
}

impl From<PeerError> for io::Error {
    fn from(error: PeerError) -> io::Error {
        match error {
            PeerError::System(error) => error,
            unseen @ PeerError::Unseen(_) => io::Error::other(unseen),
        }
    }
}
