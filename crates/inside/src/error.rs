//! Why there is no recording.

use std::io;

use lifetrace_recorder::{CollectorError, OutputError};

/// Why none could be started. The messages are for the user.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The name of the trace, or its file.
    #[error("{}", explain(.0))]
    Output(#[from] OutputError),
    /// A start or an end is under way in another thread.
    #[error("the agent is busy in this process: another thread starts or ends a recording")]
    Busy,
    /// There is no socket for it.
    #[error("cannot open a socket: {0}")]
    Socket(io::Error),
    /// No threads or descriptors.
    #[error(transparent)]
    Recorder(CollectorError),
    /// The recorder did not let the agent in.
    #[error("{0}")]
    Refused(String),
}

impl From<CollectorError> for StartError {
    fn from(error: CollectorError) -> StartError {
        match error {
            CollectorError::Output(error) => StartError::Output(error),
            error => StartError::Recorder(error),
        }
    }
}

/// What the command would say of its options.
fn explain(error: &OutputError) -> String {
    match error {
        OutputError::Placeholder { template, placeholder } => format!(
            "{}: '%{placeholder}' means nothing; there are %p (process id), %e (program) and %%",
            template.display()
        ),
        OutputError::Exists(path) => {
            format!(
                "{} exists, and is not overwritten; %p in a name is the process id",
                path.display()
            )
        }
        OutputError::Io { path, error } => format!("{}: {error}", path.display()),
        OutputError::NoFile => error.to_string(),
    }
}
