//! Other processors than amd64: nothing is attached to.

#[path = "attach/error.rs"]
mod error;
#[path = "attach/terms.rs"]
mod terms;

use std::convert::Infallible;
use std::time::Instant;

use crate::outcome::Outcome;
use crate::recording::Control;

pub use error::AttachError;
pub use terms::{AttachConfig, AttachmentEnd, Detached, Pauses};

/// A process that is being recorded; there is none.
#[derive(Debug)]
pub struct Attachment(Infallible);

impl Attachment {
    /// Does nothing.
    ///
    /// # Errors
    /// [`AttachError::OtherProcessor`].
    pub fn start(_config: &AttachConfig) -> Result<Attachment, AttachError> {
        Err(AttachError::OtherProcessor)
    }

    /// The process's number.
    pub fn pid(&self) -> u32 {
        match self.0 {}
    }

    /// A handle for other threads.
    pub fn control(&self) -> Control {
        match self.0 {}
    }

    /// What the process has felt.
    pub fn pauses(&self) -> Pauses {
        match self.0 {}
    }

    /// Whether it filters its system calls.
    pub fn is_filtered(&self) -> bool {
        match self.0 {}
    }

    /// Waits for the end of the process, or of the recording.
    pub fn wait(&self) -> AttachmentEnd {
        match self.0 {}
    }

    /// Waits until no process is being recorded.
    pub fn wait_for_others(&self, _deadline: Option<Instant>) -> bool {
        match self.0 {}
    }

    /// Number of recorded processes that have not ended.
    pub fn living_processes(&self) -> usize {
        match self.0 {}
    }

    /// Ends all.
    pub fn finish(&self) -> (Outcome, Result<(), AttachError>) {
        match self.0 {}
    }
}

/// Does nothing.
///
/// # Errors
/// [`AttachError::OtherProcessor`].
pub fn detach(_pid: u32) -> Result<Detached, AttachError> {
    Err(AttachError::OtherProcessor)
}
