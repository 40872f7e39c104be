//! How far reading has come, for whoever shows it.

use std::any::Any;
use std::io;
use std::sync::Arc;

use lifetrace_trace::Progress;

/// Called when the reading of a trace begins, with what it will count up and with the length of the input
/// in bytes if that is known. What it returns is dropped when the reading ends.
///
/// # Errors
/// Whatever keeps it from showing progress; nothing is read then.
pub type Watch = fn(Arc<Progress>, Option<u64>) -> io::Result<Box<dyn Any>>;

/// Shows nothing.
///
/// # Errors
/// None.
pub fn unwatched(_: Arc<Progress>, _: Option<u64>) -> io::Result<Box<dyn Any>> {
    Ok(Box::new(()))
}
