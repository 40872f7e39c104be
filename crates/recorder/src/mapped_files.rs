//! The files of which a process runs code.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::maps::{Mapping, first_of_files};

/// Code of a file, where a process has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MappedCode {
    pub(crate) path: PathBuf,
    pub(crate) start: u64,
    /// Where it begins in the file, in bytes.
    pub(crate) offset: u64,
}

/// The files that a process (a folder of `/proc`) has mapped to be executed, and where the first code of each is.
pub(crate) fn mapped_files(process: &Path) -> Vec<(MappedCode, File)> {
    let opened = |it: Mapping| {
        let file = open_mapped(process, &it)?;
        let path = PathBuf::from(&*it.name);
        Some((MappedCode { path, start: it.range.start, offset: it.offset }, file))
    };
    first_of_files(process, |it| it.is_executable).filter_map(opened).collect()
}

/// The file of a mapping of a process (a folder of `/proc`): where it sees it, unless it is where we do, by its number. Layers
/// of file systems hide that number, so a file that the process sees need not have it.
pub(crate) fn open_mapped(process: &Path, mapping: &Mapping) -> Option<File> {
    let is_it = |file: &File| file.metadata().is_ok_and(|it| it.ino() == mapping.inode);
    let [theirs, ours] = mapping.places(process).map(|path| open_regular(&path));
    if theirs.as_ref().is_some_and(is_it) { theirs } else { ours.filter(is_it).or(theirs) }
}

/// Opening a device or a pipe could do anything.
pub(crate) fn open_regular(path: &Path) -> Option<File> {
    path.metadata().ok().filter(fs::Metadata::is_file)?;
    File::open(path).ok()
}
