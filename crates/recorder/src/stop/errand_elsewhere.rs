//! Other processors than amd64: no thread is sent.

use lifetrace_transport::errand::Way;
use rustix::process::Pid;

use super::StopError;

pub(crate) fn send(_process: Pid, _thread: Pid, _way: Way) -> Result<bool, StopError> {
    Ok(false)
}
