//! A statistical memory profiler inside your program.

mod alloc;
mod error;
mod hooks;
mod recording;
mod sampled;
mod session;
mod summary;

use std::path::PathBuf;

pub use alloc::Alloc;
pub use error::Error;
pub use lifetrace_inside::error::StartError;
pub use recording::Recording;
pub use session::Session;
pub use summary::{Loss, Summary};

/// Starts a session that writes its trace to `output`, and samples once for 512 KiB:
/// [`Recording::new`]`(output).`[`start`](Recording::start)`()`.
///
/// # Errors
/// See [`Recording::start`].
pub fn record(output: impl Into<PathBuf>) -> Result<Session, Error> {
    Recording::new(output).start()
}
