//! The agent's library as a file that the dynamic linker can load.
//!
//! It must outlive the recording, as processes that we started may start others later; so it lies
//! in the user's cache, under a name made from its content, and is written once. What is there
//! already is used only if it is the same byte for byte, in directories that are ours and that
//! nobody else can write to.

use std::fs::{self, DirBuilder, Permissions};
use std::hash::Hasher;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustc_hash::FxHasher;

const FILE_NAME: &str = "liblifetrace.so";

/// Puts `library` into the first suitable place and returns its path.
///
/// # Errors
/// The last place's, when none will do.
pub(crate) fn unpack(library: &[u8]) -> io::Result<PathBuf> {
    let mut failure = io::Error::other("no place for the agent's library");
    for place in places() {
        match unpack_into(&place, library) {
            Ok(path) => return Ok(path),
            Err(error) => failure = at(&place, error),
        }
    }
    Err(failure)
}

fn places() -> Vec<PathBuf> {
    let variable =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let ours = format!("lifetrace-{}", rustix::process::geteuid().as_raw());
    let temporary = variable("TMPDIR").into_iter().chain([PathBuf::from("/tmp")]);
    cache
        .map(|cache| cache.join("lifetrace"))
        .into_iter()
        .chain(temporary.map(|directory| directory.join(&ours)))
        .filter(|path| can_be_preloaded(path))
        .collect()
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
    let path = directory.join(FILE_NAME);
    if !holds(&path, library) {
        write_whole(&directory, &path, library)?;
    }
    Ok(path)
}

fn own_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o755).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
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

fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
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
    fn paths_that_cannot_be_said() {
        assert!(can_be_preloaded(Path::new("/home/x/.cache/lifetrace")));
        assert!(!can_be_preloaded(Path::new("/home/a b/lifetrace")));
        assert!(!can_be_preloaded(Path::new("/home/a:b/lifetrace")));
    }
}
