//! Why no trace can be written.

use std::io;
use std::path::PathBuf;

/// Why no trace can be written under a name.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A percent sign that is none of `%p`, `%e`, `%%`.
    #[error(
        "-o {}: '%{placeholder}' means nothing; there are %p (process id), %e (program) and %%",
        template.display()
    )]
    Placeholder {
        /// As given.
        template: PathBuf,
        /// What follows the percent sign; empty at the end.
        placeholder: String,
    },
    /// The file is there, and the user has not said `-f`.
    #[error("{} exists: give another name with -o, or -f to overwrite it", .0.display())]
    Exists(PathBuf),
    /// Memtrace knows nothing else.
    #[error("Memtrace writes a file, and none is wanted")]
    NoFile,
    /// The kernel refused.
    #[error("a trace cannot be written to {}: {error}; -o names another place", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}
