//! The socket that agents connect to.
//!
//! It lies in a directory of its own, which only this user can enter. Root's programs may become
//! other users and must still find it: root's directory can be passed by everybody, but read by
//! nobody else, and the socket in it has a name that cannot be guessed, bound under another one, since
//! the kernel shows everybody the name of the moment. So only those can connect who were told where.
//!
//! Beside it there is an abstract socket, for processes that have left this part of the file system,
//! and for recorders that find no place to write to. There anyone of this network namespace may connect;
//! who is let in is decided by [`crate::admission`].

use std::ffi::OsString;
use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use lifetrace_transport::handshake::abstract_twin;
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};

use crate::{leftovers, reach};

/// Clients that may wait in the kernel for their turn; it has a lower limit of its own.
const BACKLOG: i32 = 4096;

/// What the names begin with that recorders have in common.
pub(crate) const PREFIX: &str = "lifetrace-";

/// A bound socket; removed with its directory when this is dropped.
#[derive(Debug)]
pub struct Socket {
    listeners: Vec<OwnedFd>,
    path: PathBuf,
    _directory: Option<tempfile::TempDir>,
}

impl Socket {
    /// Binds a socket in a new private directory under the first of `$XDG_RUNTIME_DIR`, `$TMPDIR`,
    /// `/tmp` and `/dev/shm` where that is possible (root prefers those that everybody can reach),
    /// or else an abstract one. Removes dead ones of this user there.
    ///
    /// # Errors
    /// If not even an abstract one is possible.
    pub fn bind() -> io::Result<Socket> {
        let places = reach::best_first(places());
        for place in &places {
            leftovers::remove_dead_sockets(place, PREFIX);
        }
        let bound = places.iter().find_map(|place| Socket::bind_under(place).ok());
        bound.map_or_else(Socket::bind_abstract, Ok)
    }

    /// Binds an abstract socket only: of a killed process nothing is left, and nobody else needs to find
    /// it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bind_abstract() -> io::Result<Socket> {
        let name = format!("{PREFIX}{}", secret()?);
        let listeners = vec![listen_abstractly(name.as_bytes())?];
        Ok(Socket { listeners, path: format!("@{name}").into(), _directory: None })
    }

    /// What the agents' environment should say.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Readable when somebody knocks.
    pub(crate) fn listeners(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.listeners.iter().map(AsFd::as_fd)
    }

    /// One that somebody else has bound, and removes.
    pub(crate) fn of_listener(listener: OwnedFd, path: PathBuf) -> Socket {
        Socket { listeners: vec![listener], path, _directory: None }
    }

    fn bind_under(place: &Path) -> io::Result<Socket> {
        let public = reach::may_change_identity();
        let directory = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(std::path::absolute(place)?)?;
        let mut path = directory.path().join("socket");
        let mut listeners = vec![listener(&SocketAddrUnix::new(&path)?)?];
        if public {
            path = publish(directory.path(), &path)?;
        }
        if let Some(twin) = abstract_twin(path.as_os_str().as_bytes()) {
            // Few processes need it, and not every kernel has it.
            listeners.extend(listen_abstractly(twin));
        }
        Ok(Socket { listeners, path, _directory: Some(directory) })
    }
}

/// Sockets of recorders that may be running, in the places where [`Socket::bind`] of a process with this environment
/// would put one. Those that are somebody else's are among them only if this user may see them.
pub(crate) fn within_reach() -> impl Iterator<Item = PathBuf> {
    let folders = places().into_iter().flat_map(|place| entries(&place));
    let ours = folders.filter(|folder| {
        folder.file_name().is_some_and(|name| name.as_bytes().starts_with(PREFIX.as_bytes()))
    });
    let is_socket = |path: &PathBuf| path.metadata().is_ok_and(|it| it.file_type().is_socket());
    ours.flat_map(|folder| entries(&folder)).filter(is_socket)
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn places() -> Vec<PathBuf> {
    let variables = ["XDG_RUNTIME_DIR", "TMPDIR"].into_iter().filter_map(std::env::var_os);
    let mut places: Vec<PathBuf> = Vec::new();
    for place in variables.chain(["/tmp", "/dev/shm"].map(OsString::from)).map(PathBuf::from) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

fn listen_abstractly(name: &[u8]) -> io::Result<OwnedFd> {
    listener(&SocketAddrUnix::new_abstract_name(name)?)
}

pub(crate) fn listener(address: &SocketAddrUnix) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    // So that one knows who speaks by a connection that its parent has made. Without it less is known.
    let _ = set_socket_passcred(&listener, true);
    bind(&listener, address)?;
    listen(&listener, BACKLOG)?;
    Ok(listener)
}

/// Gives a bound socket its secret name, and then opens its directory for those who know it.
fn publish(directory: &Path, socket: &Path) -> io::Result<PathBuf> {
    let path = directory.join(secret()?);
    // A path that agents could not say is refused here.
    SocketAddrUnix::new(&path)?;
    std::fs::rename(socket, &path)?;
    std::fs::set_permissions(&path, Permissions::from_mode(0o666))?;
    std::fs::set_permissions(directory, Permissions::from_mode(0o711))?;
    Ok(path)
}

/// 128 bits that nobody can guess.
fn secret() -> io::Result<String> {
    let mut bytes = [0; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_directory_that_others_cannot_read() {
        let place = tempfile::tempdir().unwrap();
        let socket = Socket::bind_under(place.path()).unwrap();
        let directory = socket.path().parent().unwrap().to_owned();
        let mode = directory.metadata().unwrap().mode() & 0o777;
        if reach::may_change_identity() {
            assert_eq!(mode, 0o711);
            assert_eq!(socket.path().file_name().unwrap().len(), 32);
            let shown = std::fs::read_to_string("/proc/net/unix").unwrap();
            let secret = socket.path().file_name().unwrap().to_str().unwrap();
            assert!(!shown.contains(secret), "everybody can read the name");
        } else {
            assert_eq!(mode, 0o700);
        }
        drop(socket);
        assert!(!directory.exists());
    }

    #[test]
    fn without_a_directory_the_name_is_abstract() {
        let socket = Socket::bind_abstract().unwrap();
        assert!(socket.path().to_str().unwrap().starts_with("@lifetrace-"));
    }
}
