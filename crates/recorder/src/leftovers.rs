//! Removes what earlier recorders have left: sockets of those that were killed, and agents'
//! libraries that nobody has used for a long time.
//!
//! Nothing goes that is not certainly ours and dead. A socket's folder is ours by its name, its owner
//! and by having nothing else in it, and dead if nobody listens and it is older than the moment that a
//! recorder takes to begin to listen. A library may still be in the environment of a process that
//! outlived its recording, so that only age tells; each recording renews the age of the one it uses.

use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// A recorder listens long before its socket's folder is this old.
const CERTAINLY_STARTED: Duration = Duration::from_secs(60);

/// No process still starts others with the environment of so long ago.
const CERTAINLY_FORGOTTEN: Duration = Duration::from_secs(30 * 24 * 3600);

/// Removes dead sockets, with their folders, whose names begin with `prefix` in `place`.
pub(crate) fn remove_dead_sockets(place: &Path, prefix: &str) {
    for entry in entries(place) {
        let named = entry.file_name().to_string_lossy().starts_with(prefix);
        if named && is_ours(&entry.path(), CERTAINLY_STARTED) {
            // What cannot be removed stays, and harms nobody.
            let _ = remove_if_dead(&entry.path());
        }
    }
}

/// Removes libraries called `file` in the folders of `place`, except in `kept`, that have not been
/// used for a month.
pub(crate) fn remove_old_libraries(place: &Path, kept: &Path, file: &str) {
    for entry in entries(place).filter(|entry| entry.path() != kept) {
        let library = entry.path().join(file);
        if is_hash(&entry) && is_ours(&library, CERTAINLY_FORGOTTEN) {
            // As above.
            let _ = fs::remove_file(&library).and_then(|()| fs::remove_dir(entry.path()));
        }
    }
}

fn entries(place: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(place).into_iter().flatten().flatten()
}

/// Whether it belongs to this user and has not changed for `age`; links do not count.
fn is_ours(path: &Path, age: Duration) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| {
        let changed = metadata.modified().unwrap_or_else(|_| SystemTime::now());
        !metadata.is_symlink()
            && metadata.uid() == rustix::process::geteuid().as_raw()
            && changed.elapsed().is_ok_and(|since| since > age)
    })
}

fn is_hash(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn remove_if_dead(folder: &Path) -> io::Result<()> {
    let inside: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    match inside.as_slice() {
        [] => fs::remove_dir(folder),
        [socket] if is_deaf(socket) => {
            fs::remove_file(socket)?;
            fs::remove_dir(folder)
        }
        _ => Ok(()),
    }
}

/// Whether it is a socket on which nobody listens.
fn is_deaf(path: &Path) -> bool {
    let is_socket = path.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_socket());
    is_socket && knock(path) == Err(Errno::CONNREFUSED)
}

fn knock(path: &Path) -> Result<(), Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let knocking = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    connect(&knocking, &SocketAddrUnix::new(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{bind, listen};
    use std::fs::File;
    use std::os::fd::OwnedFd;

    /// A socket as a recorder makes it, in a folder of this age.
    fn socket(folder: &Path, age: Duration) -> OwnedFd {
        fs::create_dir(folder).unwrap();
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        bind(&socket, &SocketAddrUnix::new(folder.join("socket")).unwrap()).unwrap();
        listen(&socket, 1).unwrap();
        make_old(folder, age);
        socket
    }

    fn make_old(path: &Path, age: Duration) {
        File::open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn only_dead_and_old_sockets_go() {
        let place = tempfile::tempdir().unwrap();
        let folder = |name: &str| place.path().join(name);
        let old = Duration::from_secs(3600);
        let living = socket(&folder("lifetrace-living"), old);
        drop(socket(&folder("lifetrace-dead"), old));
        drop(socket(&folder("lifetrace-young"), Duration::ZERO));
        drop(socket(&folder("other-dead"), old));
        drop(socket(&folder("lifetrace-guest"), old));
        fs::write(folder("lifetrace-guest/precious"), "").unwrap();
        make_old(&folder("lifetrace-guest"), old);
        remove_dead_sockets(place.path(), "lifetrace-");
        assert!(!folder("lifetrace-dead").exists());
        for name in ["lifetrace-living", "lifetrace-young", "other-dead", "lifetrace-guest"] {
            assert!(folder(name).join("socket").exists(), "{name}");
        }
        drop(living);
    }

    #[test]
    fn only_libraries_that_were_long_unused_go() {
        let place = tempfile::tempdir().unwrap();
        let library = |folder: &str, age: Duration| {
            let folder = place.path().join(folder);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("a.so"), "").unwrap();
            make_old(&folder.join("a.so"), age);
            folder
        };
        let old = CERTAINLY_FORGOTTEN + Duration::from_secs(60);
        let kept = library("0123456789abcdef", old);
        let gone = library("fedcba9876543210", old);
        let recent = library("fedcba9876543211", Duration::from_secs(60));
        let strange = library("strange", old);
        remove_old_libraries(place.path(), &kept, "a.so");
        assert!(!gone.exists());
        assert!(kept.exists() && recent.exists() && strange.exists());
    }
}
