//! Files beside a module that have debug information of it: where distributions put them, where a
//! `.gnu_debuglink` leads, and what several files share (`.gnu_debugaltlink`, written by `dwz`).

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Object;
use object::read::ReadCache;

use super::build_id::has_build_id;
use crate::mapped_files::open_regular;

const DEBUG_DIRECTORIES: [&str; 2] = ["/usr/lib/debug", "/lib/debug"];

/// The file with debug information of `file`, which lies in `folder` as far as that is known.
pub(super) fn debug_file(
    file: Option<&File>,
    folder: Option<&Path>,
    build_id: &[u8],
) -> Option<PathBuf> {
    by_build_id(build_id).or_else(|| linked(file?, folder?, build_id))
}

/// The file that `file`, which lies in `folder`, shares debug information with, if it names one.
pub(super) fn shared(file: &File, folder: Option<&Path>) -> Option<Result<PathBuf, ()>> {
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache).ok()?;
    let (name, build_id) = object.gnu_debugaltlink().ok()??;
    let name = Path::new(OsStr::from_bytes(name));
    let beside = folder.map(|folder| folder.join(name));
    let collected = DEBUG_DIRECTORIES.iter().map(|directory| {
        Path::new(directory).join(".dwz").join(name.file_name().unwrap_or_default())
    });
    let mut candidates = beside.into_iter().chain(collected);
    let found = candidates.find(|path| is_of(path, build_id)).or_else(|| by_build_id(build_id));
    Some(found.ok_or(()))
}

fn by_build_id(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    DEBUG_DIRECTORIES
        .iter()
        .map(|directory| format!("{directory}/.build-id/{first:02x}/{rest}.debug").into())
        .find(|path: &PathBuf| is_of(path, build_id))
}

/// Where the file's own link leads, in the folders in which debuggers look.
fn linked(file: &File, folder: &Path, build_id: &[u8]) -> Option<PathBuf> {
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache).ok()?;
    let (name, checksum) = object.gnu_debuglink().ok()??;
    let name = OsStr::from_bytes(name);
    let inside = folder.strip_prefix("/").unwrap_or(folder);
    let collected = DEBUG_DIRECTORIES.iter().map(|it| Path::new(it).join(inside).join(name));
    let beside = [folder.join(name), folder.join(".debug").join(name)];
    let is_it = |path: &PathBuf| match build_id {
        [] => checksum_of(path).is_ok_and(|found| found == checksum),
        _ => is_of(path, build_id),
    };
    beside.into_iter().chain(collected).find(is_it)
}

pub(super) fn is_of(path: &Path, build_id: &[u8]) -> bool {
    open_regular(path).is_some_and(|file| has_build_id(&file, build_id))
}

fn checksum_of(path: &Path) -> io::Result<u32> {
    let mut file = open_regular(path).ok_or(io::ErrorKind::NotFound)?;
    let (mut sum, mut buffer) = (crc32fast::Hasher::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum.finalize()),
            length => sum.update(&buffer[..length]),
        }
    }
}
