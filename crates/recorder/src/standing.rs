//! A recorder that stands where processes find it by themselves, and may go and come again.
//!
//! Its socket has a fixed place, in a folder that nobody else can write to: whoever listens there is believed by all who look
//! for it. A lock beside it tells whether another recorder has it; a socket that a killed one has left is removed.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use lifetrace_transport::handshake::{SOCKET_VARIABLE, STANDING};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use rustix::net::SocketAddrUnix;

use crate::outcome::Refusal;
use crate::reach::may_change_identity;
use crate::socket::{Socket, listener};

/// Of a folder in which nobody can rename or remove what is another's.
const STICKY: u32 = 0o1000;

/// What is special about a standing recorder.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Whose processes it records, beside those of its own user and what they start.
    pub admits: Admits,
    /// Where it tells what happens, as far as there is room.
    pub events: SyncSender<Event>,
}

/// Users whose processes are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Admits {
    /// The recorder's own alone.
    #[default]
    Own,
    /// These as well, by number.
    Users(Vec<u32>),
    /// All.
    All,
}

/// Something that whoever runs a standing recorder should know.
#[derive(Clone, Debug)]
pub enum Event {
    /// A process of a user whose processes are not recorded has asked to be.
    Stranger {
        /// The process.
        pid: u32,
        /// Whose it is.
        user: u32,
    },
    /// A process has asked to be recorded that is in a PID namespace which cannot be seen from here.
    Unseen {
        /// Whose it is, as far as its user is known here.
        user: u32,
    },
    /// A process has asked to be recorded and could not be.
    Refused(Refusal),
    /// A process has an agent that speaks another version of the protocol.
    OtherVersion {
        /// The process.
        pid: u32,
        /// The version that it speaks.
        version: u32,
    },
}

/// A socket at a fixed place; removed when this is dropped.
#[derive(Debug)]
pub struct StandingSocket {
    _claim: Claim,
}

/// The sole right to a socket at a place where nobody else can put one; what is there is removed when this is dropped.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _lock: File,
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum StandingError {
    /// Another recorder has it.
    #[error("{}: another `lifetrace collect` listens there", .0.display())]
    Taken(PathBuf),
    /// Others could put a socket of their own there, and would be believed.
    #[error(
        "{}: others than its owner can write to that folder, and could listen in place of the collector\n  \
         choose a folder that is not writable by group and others", .0.display()
    )]
    Exposed(PathBuf),
    /// There is something that is no socket.
    #[error("{}: is there already, and is no socket", .0.display())]
    Occupied(PathBuf),
    /// The kernel refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl Admits {
    /// Whether this user's processes are recorded.
    pub(crate) fn includes(&self, user: u32) -> bool {
        match self {
            Admits::Own => false,
            Admits::Users(users) => users.contains(&user),
            Admits::All => true,
        }
    }

    /// Others must be able to connect; who is let in is decided when they do. What root has started may become anybody.
    fn mode(&self) -> u32 {
        if *self == Admits::Own && !may_change_identity() { 0o600 } else { 0o666 }
    }
}

impl Standing {
    /// Nobody may be listening any more, and whoever knocks must not be able to fill our memory.
    pub(crate) fn tell(&self, event: Event) {
        let _ = self.events.try_send(event);
    }
}

impl StandingSocket {
    /// Binds a socket there; makes its folder if that is not there.
    ///
    /// # Errors
    /// [`StandingError`].
    pub fn bind(path: &Path, admits: &Admits) -> Result<(StandingSocket, Socket), StandingError> {
        let claim = Claim::of(path)?;
        let path = claim.path.clone();
        let failed = |error: io::Error| StandingError::Io { path: path.clone(), error };
        let bound = SocketAddrUnix::new(&path).map_err(io::Error::from);
        let listener = bound.and_then(|address| listener(&address)).map_err(failed)?;
        let mode = Permissions::from_mode(admits.mode());
        fs::set_permissions(&path, mode).map_err(failed)?;
        let socket = Socket::of_listener(listener, path.clone());
        Ok((StandingSocket { _claim: claim }, socket))
    }
}

impl Claim {
    /// Makes the place's folder if that is not there, and removes a socket that one who was killed has left.
    ///
    /// # Errors
    /// [`StandingError`].
    pub fn of(path: &Path) -> Result<Claim, StandingError> {
        let failed = |error: io::Error| StandingError::Io { path: path.to_owned(), error };
        let path = std::path::absolute(path).map_err(failed)?;
        let folder = path.parent().unwrap_or(&path);
        DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(failed)?;
        refuse_exposed(folder)?;
        let lock = lock(&path)?;
        remove_dead(&path)?;
        Ok(Claim { path, _lock: lock })
    }

    /// Where the socket is to be.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Where it was looked for the next one is to be.
impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The environment variable by which programs find a standing recorder at that path, and its value.
pub fn standing_address(path: &Path) -> (&'static str, OsString) {
    let mut value = OsString::from_vec(STANDING.to_vec());
    value.push(path);
    (SOCKET_VARIABLE, value)
}

/// Whoever can put something else there can have the agents' trust.
fn refuse_exposed(folder: &Path) -> Result<(), StandingError> {
    let failed = |error| StandingError::Io { path: folder.to_owned(), error };
    let folder = folder.canonicalize().map_err(failed)?;
    for place in folder.ancestors() {
        let metadata = place.metadata().map_err(failed)?;
        // In a folder such as /tmp everybody can put something, but not take away what is another's.
        let is_closed =
            metadata.mode() & 0o022 == 0 || place != folder && metadata.mode() & STICKY != 0;
        if !(is_closed && is_trusted(metadata.uid())) {
            return Err(StandingError::Exposed(place.to_owned()));
        }
    }
    Ok(())
}

fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

fn lock(path: &Path) -> Result<File, StandingError> {
    let failed = |error| StandingError::Io { path: path.to_owned(), error };
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(name).map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(StandingError::Taken(path.to_owned())),
        Err(error) => Err(failed(error.into())),
    }
}

/// Whoever had it does not hold the lock any more.
fn remove_dead(path: &Path) -> Result<(), StandingError> {
    let failed = |error| StandingError::Io { path: path.to_owned(), error };
    match path.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(metadata) if metadata.file_type().is_socket() => fs::remove_file(path).map_err(failed),
        Ok(_) => Err(StandingError::Occupied(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_one_listener_and_what_a_killed_one_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/socket");
        let bind = || StandingSocket::bind(&path, &Admits::Own);
        let (standing, socket) = bind().unwrap();
        assert_eq!(socket.path(), path);
        assert!(matches!(bind(), Err(StandingError::Taken(_))));
        drop((standing, socket));
        assert!(!path.exists());
        let left = listener(&SocketAddrUnix::new(&path).unwrap()).unwrap();
        drop(left);
        assert!(path.exists() && bind().is_ok());
        fs::write(&path, "precious").unwrap();
        assert!(matches!(bind(), Err(StandingError::Occupied(_))));
    }

    #[test]
    fn nobody_else_can_listen_there() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let bound = StandingSocket::bind(&folder.path().join("socket"), &Admits::Own);
        assert!(matches!(bound, Err(StandingError::Exposed(_))));
    }

    #[test]
    fn who_is_let_in() {
        let some = Admits::Users(vec![33, 70]);
        assert!(!Admits::Own.includes(33) && some.includes(33) && !some.includes(0));
        assert!(Admits::All.includes(65534));
    }
}
