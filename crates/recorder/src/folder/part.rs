//! A file that is being written.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use lifetrace_trace::ids::Timestamp;

use super::{Folder, name};

/// A file that is being written; it has its name when it is [finished](Part::finish), and not before. One that is dropped
/// stays as it is, for the next recorder to finish.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    folder: Folder,
    /// What it will be called.
    path: PathBuf,
    program: String,
    pid: u32,
}

impl Folder {
    /// Begins a file for the trace of a process of this program.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn begin(
        &self,
        program: &str,
        pid: u32,
        start: Timestamp,
    ) -> io::Result<(Part, File)> {
        let mut names = name::names(program, pid, start).map(|name| self.path().join(name));
        let is_free = |path: &Path| path.symlink_metadata().is_err();
        let path = names.find(|path| is_free(path) && is_free(&name::part(path)));
        let path = path.unwrap_or_default();
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600);
        let file = file.open(name::part(&path))?;
        Ok((Part { folder: self.clone(), path, program: program.to_owned(), pid }, file))
    }
}

impl Part {
    /// Whose it is.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// What it will be called.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is while it is being written.
    pub(crate) fn place(&self) -> PathBuf {
        name::part(&self.path)
    }

    /// Reads it from its beginning, whether it is finished or not.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn read(&self) -> io::Result<File> {
        File::open(&self.path).or_else(|_| File::open(self.place()))
    }

    /// Begins the file that follows this one.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn successor(&self, start: Timestamp) -> io::Result<(Part, File)> {
        self.folder.begin(&self.program, self.pid, start)
    }

    /// Gives it its name, when all of it is on the disk.
    ///
    /// # Errors
    /// The file system's; then it keeps the name that it has.
    pub(crate) fn finish(&self) -> io::Result<()> {
        let file = File::open(self.place())?;
        file.sync_all()?;
        fs::rename(self.place(), &self.path)?;
        self.folder.count_finished(file.metadata().map_or(0, |it| it.len()));
        Ok(())
    }

    /// Removes it: it tells nothing.
    pub(crate) fn discard(&self) {
        // What cannot be removed is finished by the next recorder.
        let _ = fs::remove_file(self.place());
    }
}
