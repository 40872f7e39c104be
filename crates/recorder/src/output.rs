//! Where traces go: names from a template, and files that overwrite nothing.
//!
//! When a name has been given to one of this recording's traces already (a process that executes another
//! program keeps its id; a [template](Template) may lack `%p`), the next ones get `.2`, `.3`, … before the
//! suffix.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::hash::BuildHasher;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustc_hash::{FxBuildHasher, FxHashSet};
use rustix::fs::{Access, access};

use crate::folder::Folder;
use crate::heap::Heap;
use crate::output_error::OutputError;
use crate::template::Template;

/// Where what is recorded goes.
#[derive(Clone, Debug)]
pub enum Output {
    /// Into trace files of these names: `%p` is the process id, `%e` what the program was run as, `%%` a
    /// percent sign.
    Files(OsString),
    /// Into memory: what is live now can be looked at, and there are no files.
    Heap(Heap),
    /// Into files of these names, and into memory.
    Both(OsString, Heap),
    /// Into a folder of finished traces.
    Folder(Folder),
}

impl Output {
    /// As given.
    pub fn template(&self) -> Option<&OsStr> {
        match self {
            Output::Files(template) | Output::Both(template, _) => Some(template),
            Output::Heap(_) | Output::Folder(_) => None,
        }
    }

    /// The one to be filled.
    pub fn heap(&self) -> Option<&Heap> {
        match self {
            Output::Files(_) | Output::Folder(_) => None,
            Output::Heap(heap) | Output::Both(_, heap) => Some(heap),
        }
    }

    /// The folder of finished traces, if it is that.
    pub fn folder(&self) -> Option<&Folder> {
        match self {
            Output::Folder(folder) => Some(folder),
            Output::Files(_) | Output::Heap(_) | Output::Both(..) => None,
        }
    }
}

impl From<OsString> for Output {
    fn from(template: OsString) -> Output {
        Output::Files(template)
    }
}

/// Hands out the names of one recording.
#[derive(Debug)]
pub(crate) struct Names {
    template: Template,
    overwrite: bool,
    /// Hashes of the names: there may be millions. Where two are the same, a trace gets a number that
    /// it would not have needed.
    given: FxHashSet<u64>,
}

impl Names {
    pub(crate) fn new(template: Template, overwrite: bool) -> Names {
        Names { template, overwrite, given: FxHashSet::default() }
    }

    /// Whether the first trace can be made, as far as that can be known before its process exists.
    ///
    /// # Errors
    /// [`OutputError`] as [`create`](Self::create) would give it.
    pub(crate) fn check(&self, program: &str) -> Result<(), OutputError> {
        let path = self.template.expand(program, "0");
        if !self.template.names_the_process() {
            if path.is_dir() {
                return Err(OutputError::Io { path, error: io::ErrorKind::IsADirectory.into() });
            }
            if self.is_taken(&path) {
                return Err(OutputError::Exists(path));
            }
            if path.exists() {
                return allowed(&path, Access::WRITE_OK);
            }
        }
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                allowed(parent, Access::WRITE_OK | Access::EXEC_OK)
            }
            _ => allowed(Path::new("."), Access::WRITE_OK | Access::EXEC_OK),
        }
    }

    /// Makes the file for a process's trace.
    ///
    /// # Errors
    /// [`OutputError::Exists`] or [`OutputError::Io`].
    pub(crate) fn create(
        &mut self,
        program: &str,
        pid: &str,
    ) -> Result<(PathBuf, File), OutputError> {
        let plain = self.template.expand(program, pid);
        let path = self.free_name(&plain);
        if self.is_taken(&path) {
            return Err(OutputError::Exists(path));
        }
        let file = open(&path, self.overwrite)
            .map_err(|error| OutputError::Io { path: path.clone(), error })?;
        self.given.insert(hash(&path));
        Ok((path, file))
    }

    /// The first of `plain` and its numbered siblings that this recording has not given away; a
    /// sibling left by an earlier recording is passed over, too.
    fn free_name(&self, plain: &Path) -> PathBuf {
        if !self.is_given(plain) {
            return plain.to_owned();
        }
        let mut siblings = (2u64..).map(|number| numbered(plain, number));
        siblings
            .find(|path| !self.is_given(path) && !self.is_taken(path))
            .unwrap_or_else(|| plain.to_owned())
    }

    /// A name is free again when its file has been removed; a device serves everybody.
    fn is_given(&self, path: &Path) -> bool {
        self.given.contains(&hash(path)) && path.symlink_metadata().is_ok() && !is_special(path)
    }

    fn is_taken(&self, path: &Path) -> bool {
        !self.overwrite && path.symlink_metadata().is_ok() && !is_special(path)
    }
}

fn hash(path: &Path) -> u64 {
    FxBuildHasher.hash_one(path)
}

/// Devices and pipes are written to, not overwritten.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Makes a file, over another only if that may be overwritten.
pub(crate) fn open(path: &Path, overwrite: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o666);
    if is_special(path) {
        options.open(path)
    } else if overwrite {
        options.create(true).truncate(true).open(path)
    } else {
        options.create_new(true).open(path)
    }
}

fn allowed(path: &Path, how: Access) -> Result<(), OutputError> {
    access(path, how).map_err(|error| OutputError::Io { path: path.into(), error: error.into() })
}

fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{number}"));
    if let Some(suffix) = path.extension() {
        name.push(".");
        name.push(suffix);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path, template: &str, overwrite: bool) -> Names {
        let template = Template::parse(directory.join(template).as_os_str()).unwrap();
        Names::new(template, overwrite)
    }

    #[test]
    fn later_traces_of_the_same_name_are_numbered() {
        let directory = tempfile::tempdir().unwrap();
        let mut names = names(directory.path(), "t.%e.ctf", false);
        std::fs::write(directory.path().join("t.sh.3.ctf"), "old").unwrap();
        let mut next = || {
            let (path, _) = names.create("sh", "1").unwrap();
            path.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!([next(), next(), next()], ["t.sh.ctf", "t.sh.2.ctf", "t.sh.4.ctf"]);
        assert_eq!(numbered("a/b".as_ref(), 2), Path::new("a/b.2"));
    }

    #[test]
    fn nothing_is_overwritten_without_leave() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.ctf");
        std::fs::write(&path, "precious").unwrap();
        let mut careful = names(directory.path(), "t.ctf", false);
        assert!(matches!(careful.check("sh"), Err(OutputError::Exists(_))));
        assert!(matches!(careful.create("sh", "1"), Err(OutputError::Exists(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        let mut bold = names(directory.path(), "t.ctf", true);
        bold.check("sh").unwrap();
        bold.create("sh", "1").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn a_link_to_nowhere_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("nowhere", directory.path().join("t")).unwrap();
        let mut careful = names(directory.path(), "t", false);
        assert!(matches!(careful.create("sh", "1"), Err(OutputError::Exists(_))));
    }

    #[test]
    fn devices_are_written_to() {
        let mut names = names(Path::new("/dev"), "null", false);
        names.check("sh").unwrap();
        for _ in 0..2 {
            let (path, _) = names.create("sh", "1").unwrap();
            assert_eq!(path, Path::new("/dev/null"));
        }
    }

    #[test]
    fn a_missing_directory_is_found_before_anything_runs() {
        let directory = tempfile::tempdir().unwrap();
        for template in ["no/t.ctf", "no/t.%p.ctf"] {
            let error = names(directory.path(), template, false).check("sh").unwrap_err();
            assert!(error.to_string().contains("/no: No such file"), "{error}");
        }
    }

    #[test]
    fn the_name_of_a_removed_trace_is_free() {
        let directory = tempfile::tempdir().unwrap();
        let mut names = names(directory.path(), "t", false);
        let (path, _) = names.create("sh", "1").unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(names.create("sh", "2").unwrap().0, path);
    }
}
