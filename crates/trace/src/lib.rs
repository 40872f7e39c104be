//! The file formats. No I/O of its own beyond `Read` and `Write`.
#![forbid(unsafe_code)]

mod any;
pub mod call_tree;
pub mod chance;
pub mod event;
pub mod fact;
pub mod frame;
mod framing;
pub mod ids;
pub mod lt;
pub mod lth;
pub mod memtrace;
pub mod record;
pub mod transfer;

pub use any::{AnyReader, Progress, ReadError};
