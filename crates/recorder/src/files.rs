//! Where the trace of a process that says hello is written.

use std::path::PathBuf;

use lifetrace_trace::ids::Timestamp;
use rustix::process::Pid;

use crate::folder::Folder;
use crate::output::Names;
use crate::output_error::OutputError;
use crate::sink::Destination;
use crate::trace_file::TraceFile;

/// Where traces are written.
#[derive(Debug)]
pub(crate) enum Files {
    /// There are none.
    None,
    /// Each in a file that a template names.
    Named(Names),
    /// In a folder of finished ones.
    Folder(Folder),
}

impl Files {
    /// Makes the first file for a process; what it is called, or will be. It is at most `limit` bytes long, if that is
    /// given and it is the only one.
    ///
    /// # Errors
    /// [`OutputError`].
    pub(crate) fn open(
        &mut self,
        program: &str,
        pid: Pid,
        start: Timestamp,
        limit: Option<u64>,
    ) -> Result<Option<(PathBuf, Destination)>, OutputError> {
        let pid = pid.as_raw_nonzero();
        Ok(match self {
            Files::None => None,
            Files::Named(names) => {
                let (path, file) = names.create(program, &pid.to_string())?;
                Some((path, Destination::File(TraceFile::new(file, limit))))
            }
            Files::Folder(folder) => {
                let part = folder.begin(program, pid.get() as u32, start);
                let path = || folder.path().to_owned();
                let (part, file) = part.map_err(|error| OutputError::Io { path: path(), error })?;
                Some((part.path().to_owned(), Destination::Folder(part, file)))
            }
        })
    }
}
