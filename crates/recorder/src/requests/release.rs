//! The end of the recording of a process that was attached to, which a command asks for.
//!
//! ```text
//! detach\0PID
//! ending
//! failed\0WHY
//! ```

use std::sync::Arc;

use crate::progress::Progress;
use crate::wakeup::Wakeup;

/// Ends the recording of a process that was attached to, if somebody asks for it.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    pub(crate) is_attached: bool,
    pub(crate) progress: Arc<Progress>,
    pub(crate) stop: Arc<Wakeup>,
}

/// What is asked.
#[cfg(target_arch = "x86_64")]
pub(crate) fn request(pid: u32) -> Vec<u8> {
    format!("detach\0{pid}").into_bytes()
}

/// What the recorder has answered.
///
/// # Errors
/// Why it goes on.
#[cfg(target_arch = "x86_64")]
pub(crate) fn understand(answer: &[u8]) -> Result<(), String> {
    match answer.strip_prefix(b"failed\0") {
        Some(why) => Err(String::from_utf8_lossy(why).into_owned()),
        None => Ok(()),
    }
}

impl Release {
    /// The recorder's side.
    pub(super) fn answer(&self) -> Vec<u8> {
        if !self.is_attached {
            return b"failed\0it was started by `lifetrace record`, whose recording ends with it, or by Ctrl-C twice".into();
        }
        self.progress.stop();
        self.stop.raise();
        b"ending".into()
    }
}
