//! The agent's library as a file that the dynamic linker can load.
//!
//! It must outlive the recording, as processes that we started may start others later; so it lies
//! in the user's cache, under a name made from its content, and is written once. What is there
//! already is used only if it is the same byte for byte, in directories that are ours and that
//! nobody else can write to.
//!
//! Root prefers a place that everybody can reach, for programs that become another user. Where nothing
//! can be written, or nothing that is written can be executed, the library stays in our memory, and
//! targets load it through our `/proc` entry; that serves as long as this process lives.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Permissions};
use std::hash::Hasher;
use std::io::{self, Write};
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustc_hash::FxHasher;
use rustix::fs::{MemfdFlags, StatVfsMountFlags, memfd_create, statvfs};

use crate::{leftovers, reach};

/// What the library's file is called.
pub const FILE_NAME: &str = "liblifetrace.so";

/// Puts `library` into the first suitable place and returns its path.
///
/// # Errors
/// If there is none, and no memory for it either.
pub fn unpack(library: &[u8]) -> io::Result<PathBuf> {
    for place in places() {
        if let Ok(path) = unpack_into(&place, library) {
            let used = path.parent().unwrap_or(&path);
            leftovers::remove_old_libraries(&place, used, FILE_NAME);
            return Ok(path);
        }
    }
    keep_in_memory(library)
}

/// Puts `library` into a folder, in place of an earlier one, and returns its path. Programs that have that one loaded keep
/// it.
///
/// # Errors
/// The file system's; also when the dynamic linker could not be told of that folder, or may not load from it.
pub fn install(folder: &Path, library: &[u8]) -> io::Result<PathBuf> {
    let folder = std::path::absolute(folder)?;
    if !can_be_preloaded(&folder) {
        return Err(io::Error::other(
            "LD_PRELOAD has no way to name a folder with a space or a colon",
        ));
    }
    fs::create_dir_all(&folder)?;
    refuse_without_execution(&folder)?;
    let path = folder.join(FILE_NAME);
    if !holds(&path, library) {
        write_whole(&folder, &path, library)?;
    }
    Ok(path)
}

/// Whether what `LD_PRELOAD` lists has an agent among it, wherever that has been put.
pub(crate) fn names_agent(list: &[u8]) -> bool {
    path_of_agent(list).is_some()
}

/// The agent among what `LD_PRELOAD` lists.
pub(crate) fn path_of_agent(list: &[u8]) -> Option<&Path> {
    let is_in_memory = |path: &[u8]| path.starts_with(b"/proc/");
    let is_agent = |path: &&[u8]| path.ends_with(FILE_NAME.as_bytes()) || is_in_memory(path);
    let path = list.split(|byte| b": ".contains(byte)).find(is_agent)?;
    Some(Path::new(OsStr::from_bytes(path)))
}

/// The descriptor is never closed: whatever targets there are may start others.
fn keep_in_memory(library: &[u8]) -> io::Result<PathBuf> {
    let memory = memfd_create(FILE_NAME, MemfdFlags::CLOEXEC)?;
    let mut file = File::from(memory);
    file.write_all(library)?;
    let descriptor = file.into_raw_fd();
    Ok(PathBuf::from(format!("/proc/{}/fd/{descriptor}", std::process::id())))
}

fn places() -> Vec<PathBuf> {
    let variable =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let ours = format!("lifetrace-{}", rustix::process::geteuid().as_raw());
    let temporary = variable("TMPDIR").into_iter().chain([PathBuf::from("/tmp")]);
    let shared = Some(PathBuf::from("/var/cache")).filter(|_| reach::may_change_identity());
    let cached = cache.into_iter().chain(shared).map(|cache| cache.join("lifetrace"));
    let places = cached.chain(temporary.map(|directory| directory.join(&ours)));
    reach::best_first(places.filter(|path| can_be_preloaded(path)).collect())
}

/// `LD_PRELOAD` is a list with these separators, and has no way to quote them.
fn can_be_preloaded(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b':' | b' '))
}

fn unpack_into(place: &Path, library: &[u8]) -> io::Result<PathBuf> {
    if let Some(parent) = place.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let directory = place.join(content_name(library));
    for directory in [place, &directory] {
        own_directory(directory)?;
    }
    refuse_without_execution(&directory)?;
    let path = directory.join(FILE_NAME);
    if holds(&path, library) {
        // Its age is the time since it was used; if it cannot be renewed, it is written again.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
    } else {
        write_whole(&directory, &path, library)?;
    }
    Ok(path)
}

/// Whether the dynamic linker may map code from there.
fn refuse_without_execution(place: &Path) -> io::Result<()> {
    let forbidden = statvfs(place)?.f_flag.contains(StatVfsMountFlags::NOEXEC);
    if forbidden { Err(io::Error::other("nothing there can be executed")) } else { Ok(()) }
}

fn own_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().create(path) {
        // Whatever the umask.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(0o755))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let metadata = path.symlink_metadata()?;
    let ours = metadata.is_dir()
        && metadata.uid() == rustix::process::geteuid().as_raw()
        && metadata.mode() & 0o022 == 0;
    if ours {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "is not a directory that only this user can write to",
    ))
}

fn holds(path: &Path, library: &[u8]) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| {
        metadata.is_file()
            && metadata.uid() == rustix::process::geteuid().as_raw()
            && metadata.len() == library.len() as u64
    }) && fs::read(path).is_ok_and(|content| content == library)
}

/// Nobody ever sees a part of it: the dynamic linker of another recording may be at work.
fn write_whole(directory: &Path, path: &Path, library: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(library)?;
    file.as_file().set_permissions(Permissions::from_mode(0o755))?;
    file.persist(path)?;
    Ok(())
}

fn content_name(library: &[u8]) -> String {
    let mut hasher = FxHasher::default();
    hasher.write(library);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn written_once_and_used_again() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("new/cache/lifetrace");
        let path = unpack_into(&place, b"library").unwrap();
        let first = path.metadata().unwrap().ino();
        assert_eq!(fs::read(&path).unwrap(), b"library");
        assert_eq!((modes(&path), modes(path.parent().unwrap())), (0o755, 0o755));
        assert_eq!(unpack_into(&place, b"library").unwrap(), path);
        assert_eq!(path.metadata().unwrap().ino(), first);
        assert_ne!(unpack_into(&place, b"another").unwrap(), path);
    }

    #[test]
    fn a_changed_file_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("lifetrace");
        let path = unpack_into(&place, b"library").unwrap();
        fs::write(&path, b"EVIL!!!").unwrap();
        unpack_into(&place, b"library").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"library");
    }

    #[test]
    fn a_place_that_others_can_write_to_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("lifetrace");
        fs::create_dir(&place).unwrap();
        fs::set_permissions(&place, Permissions::from_mode(0o777)).unwrap();
        let error = unpack_into(&place, b"library").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_link_is_not_a_directory_of_ours() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("lifetrace");
        std::os::unix::fs::symlink(directory.path(), &place).unwrap();
        assert!(unpack_into(&place, b"library").is_err());
    }

    #[test]
    fn without_a_place_it_is_loaded_from_memory() {
        let path = keep_in_memory(b"library").unwrap();
        assert_eq!(fs::read(path).unwrap(), b"library");
    }

    #[test]
    fn paths_that_cannot_be_said() {
        assert!(can_be_preloaded(Path::new("/home/x/.cache/lifetrace")));
        assert!(!can_be_preloaded(Path::new("/home/a b/lifetrace")));
        assert!(!can_be_preloaded(Path::new("/home/a:b/lifetrace")));
    }
}
