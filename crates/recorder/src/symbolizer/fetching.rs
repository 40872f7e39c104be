//! Debug information from servers, if this is built with the feature `debuginfod` and the environment names some.
//!
//! Names are waited for while a program is being recorded, so the time for all files together is limited
//! (`lifetrace_debuginfod::PATIENCE`); what comes too late is a notice of the trace, and can be had by the next recording.

use std::path::PathBuf;

use crate::notice::Unread;

/// A file with the debug information of what has this build id; `None` if nobody has one, or nobody is to be asked.
///
/// # Errors
/// If a server that might have it gave none.
#[cfg(feature = "debuginfod")]
pub(super) fn debug_info(build_id: &[u8]) -> Result<Option<PathBuf>, Unread> {
    use std::sync::LazyLock;

    use lifetrace_debuginfod::{Client, Failure};

    static CLIENT: LazyLock<Option<Client>> = LazyLock::new(Client::from_environment);
    let Some(client) = &*CLIENT else { return Ok(None) };
    match client.debug_info(build_id, &|path| super::elsewhere::is_of(path, build_id)) {
        Ok(path) => Ok(Some(path)),
        Err(Failure::Nowhere) => Ok(None),
        Err(Failure::Late | Failure::Trouble(_)) => Err(Unread::Unfetched),
    }
}

/// Without that feature: nobody is asked.
///
/// # Errors
/// None.
#[cfg(not(feature = "debuginfod"))]
pub(super) fn debug_info(_: &[u8]) -> Result<Option<PathBuf>, Unread> {
    Ok(None)
}
