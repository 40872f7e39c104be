//! Other processors: no thread is sent.

use lifetrace_transport::errand::Frame;

pub(super) fn code() -> Option<u64> {
    None
}

pub(super) fn fail_as_interrupted(_frame: &mut Frame) {}
