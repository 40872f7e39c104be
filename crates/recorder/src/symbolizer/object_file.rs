//! Which file on disk a module of a process is, and where its debug information lies.
//!
//! The name that the loader has for a file says where it was when it was loaded, as that process
//! sees the file system. So every way to it is tried, and none is trusted unless the file has the
//! build id that the module has in memory (or, like the module, has none). What is found is held
//! open and used by way of `/proc/self/fd`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::iter;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::build_id::has_build_id;
use super::forms::Forms;
use super::{elsewhere, fetching, mini};
use crate::mapped_files::open_regular;
use crate::notice::Unread;
use crate::process::{ProcessImage, undeleted};

/// A module's file, or only its name where no file can be trusted.
#[derive(Debug)]
pub(crate) struct ObjectFile {
    number: u64,
    name: String,
    build_id: Vec<u8>,
    file: Option<File>,
    debug_file: Option<PathBuf>,
    /// From a server, when first asked for; of a file that lacks debug information on this machine.
    fetched: OnceLock<Option<PathBuf>>,
    /// Unpacked from the file when first asked for.
    mini: OnceLock<Option<File>>,
    /// What is in the files and could not be read, once that has turned out.
    unread: OnceLock<Unread>,
}

/// What makes two modules of different processes the same file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    name: String,
    build_id: Vec<u8>,
    inode: Option<(u64, u64)>,
}

impl ObjectFile {
    /// As the loader knows it; the program's path for the program itself.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Unique within a symbolizer.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Files to look for symbols in, the richest first.
    pub(super) fn sources(&self) -> impl Iterator<Item = PathBuf> {
        let own = self.file.as_ref().map(own_path);
        let mini = iter::once_with(|| self.mini().map(own_path)).flatten();
        self.debug_file().into_iter().chain(own).chain(mini)
    }

    /// Files that may have debug information, by paths beside which there may be more of it.
    pub(super) fn with_debug_info(&self) -> impl Iterator<Item = PathBuf> {
        let own = self.file.as_ref().map(|file| real_path(file).unwrap_or_else(|| own_path(file)));
        self.debug_file().into_iter().chain(own)
    }

    /// A file beside with debug information, if there is one anywhere. That may take as long as servers are waited for.
    fn debug_file(&self) -> Option<PathBuf> {
        let fetch = || {
            fetching::debug_info(&self.build_id)
                .map_err(|unread| self.note_unread(unread))
                .ok()
                .flatten()
        };
        self.debug_file.as_ref().or_else(|| self.fetched.get_or_init(fetch).as_ref()).cloned()
    }

    /// What is loaded, held open.
    pub(super) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    fn mini(&self) -> Option<&File> {
        self.mini.get_or_init(|| mini::symbols(self.file.as_ref()?)).as_ref()
    }

    /// Notes that something in the files cannot be read; the first counts.
    pub(super) fn note_unread(&self, unread: Unread) {
        self.unread.get_or_init(|| unread);
    }

    /// Notes that a place has no name because there is no file. What the kernel maps of its own (vdso(7)) is none.
    pub(super) fn note_unfound(&self) {
        if self.file.is_none() && !self.name.starts_with("linux-vdso") {
            self.note_unread(Unread::Unfound);
        }
    }

    /// What cannot be read, as far as anybody has tried.
    pub(crate) fn unread(&self) -> Option<Unread> {
        self.unread.get().copied()
    }

    pub(super) fn identity(&self) -> Identity {
        let metadata = self.file.as_ref().and_then(|file| file.metadata().ok());
        Identity {
            name: self.name.clone(),
            build_id: self.build_id.clone(),
            inode: metadata.map(|metadata| (metadata.dev(), metadata.ino())),
        }
    }

    pub(super) fn numbered(self, number: u64) -> ObjectFile {
        ObjectFile { number, ..self }
    }
}

/// Finds the file of the module that `process` has loaded from `path`.
pub(super) fn find(path: &[u8], build_id: &[u8], process: &ProcessImage) -> ObjectFile {
    let name = match undeleted(Path::new(OsStr::from_bytes(path))) {
        name if name.as_os_str().is_empty() => &process.executable,
        name => name,
    };
    let file = candidates(name, build_id, process).find(|file| has_build_id(file, build_id));
    let has_own = file.as_ref().is_some_and(|file| Forms::of(file).has_any);
    let beside = || {
        let path = file.as_ref().and_then(real_path);
        elsewhere::debug_file(file.as_ref(), path.as_deref().and_then(Path::parent), build_id)
    };
    let debug_file = if has_own { None } else { beside() };
    let fetched = if has_own { OnceLock::from(None) } else { OnceLock::new() };
    ObjectFile { fetched, ..found(name, build_id, file, debug_file) }
}

/// A module of which these files are known, by its name and build id.
pub(super) fn found(
    name: &Path,
    build_id: &[u8],
    file: Option<File>,
    debug_file: Option<PathBuf>,
) -> ObjectFile {
    ObjectFile {
        number: 0,
        name: name.to_string_lossy().into_owned(),
        build_id: build_id.to_vec(),
        file,
        debug_file,
        fetched: OnceLock::new(),
        mini: OnceLock::new(),
        unread: OnceLock::new(),
    }
}

/// Files that may be it, each opened when it is its turn.
fn candidates<'a>(
    name: &'a Path,
    build_id: &'a [u8],
    process: &'a ProcessImage,
) -> impl Iterator<Item = File> + 'a {
    let directory = PathBuf::from(format!("/proc/{}", process.pid.as_raw_nonzero()));
    // It may have changed these since its hello.
    let seen_from = directory.join(if name.is_absolute() { "root" } else { "cwd" });
    let now = seen_from.join(name.strip_prefix("/").unwrap_or(name));
    let now = iter::once_with(move || open_regular(&now));
    let mapped = iter::once_with(move || mapped_file(&directory, name));
    iter::once_with(|| executable(name, build_id, process))
        .chain(iter::once_with(|| process.view.open(name)))
        .chain(now)
        .chain(iter::once_with(|| open_regular(name)))
        .chain(mapped)
        .flatten()
}

/// The program's file, if it may be meant. From outside of its root its path looks longer than it is to itself; without a
/// build id that is not enough to go by.
fn executable(name: &Path, build_id: &[u8], process: &ProcessImage) -> Option<File> {
    let is_alike = !build_id.is_empty() && name.file_name() == process.executable.file_name();
    let file = process.executable_file.as_ref();
    let file = file.filter(|_| is_alike || name == process.executable);
    file.and_then(|file| file.try_clone().ok())
}

/// A deleted file that is still mapped; the kernel lets only the privileged have it.
fn mapped_file(directory: &Path, name: &Path) -> Option<File> {
    let maps = fs::read(directory.join("maps")).ok()?;
    let deleted = [name.as_os_str().as_bytes(), b" (deleted)"].concat();
    let line = maps.split(|&byte| byte == b'\n').find(|line| line.ends_with(&deleted))?;
    let range = line.split(|&byte| byte == b' ').next()?;
    File::open(directory.join("map_files").join(OsStr::from_bytes(range))).ok()
}

/// Where an open file lies, if it is still there and that is within our view.
fn real_path(file: &File) -> Option<PathBuf> {
    let path = fs::read_link(own_path(file)).ok()?;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let found = identity(path.metadata().ok()?);
    (identity(file.metadata().ok()?) == found).then_some(path)
}

fn own_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
