//! A socket that is listened to.

use std::fs::{self, Permissions};
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use anyhow::Context;
use lifetrace_recorder::Claim;

use super::address::Address;
use super::stream::Stream;

/// A socket that is listened to; one in the file system is removed in the end.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    address: Address,
    _claim: Option<Claim>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Listens there. A socket in the file system is for this user alone, in a folder in which nobody else can put another.
    ///
    /// # Errors
    /// If the place is taken, or others could take it.
    pub fn bind(address: &Address) -> anyhow::Result<Self> {
        let (socket, address, claim) = match address {
            Address::Loopback(wanted) => {
                let listener = TcpListener::bind(wanted).with_context(|| address.to_string())?;
                let bound = Address::Loopback(listener.local_addr()?);
                (Socket::Tcp(listener), bound, None)
            }
            Address::Unix(path) => {
                let claim = Claim::of(path)?;
                let path = claim.path().to_owned();
                let named = || path.display().to_string();
                let listener = UnixListener::bind(&path).with_context(named)?;
                // Who comes before that is asked who it is, as all are.
                fs::set_permissions(&path, Permissions::from_mode(0o600)).with_context(named)?;
                (Socket::Unix(listener), Address::Unix(path), Some(claim))
            }
        };
        let listener = Self { socket, address, _claim: claim };
        listener.set_nonblocking()?;
        Ok(listener)
    }

    /// Where it is: with the port that was free, if any was wanted.
    pub fn address(&self) -> &Address {
        &self.address
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(listener) => listener.set_nonblocking(true),
            Socket::Unix(listener) => listener.set_nonblocking(true),
        }
    }

    /// The next connection; that there is none is an error as well.
    pub(super) fn accept(&self) -> io::Result<Stream> {
        Ok(match &self.socket {
            Socket::Tcp(listener) => Stream::Tcp(listener.accept()?.0),
            Socket::Unix(listener) => Stream::Unix(listener.accept()?.0),
        })
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(listener) => listener.as_fd(),
            Socket::Unix(listener) => listener.as_fd(),
        }
    }
}
