//! The file formats. No I/O of its own beyond `Read` and `Write`.
#![forbid(unsafe_code)]

pub mod event;
pub mod fact;
pub mod frame;
pub mod ids;
pub mod lt;
pub mod memtrace;
pub mod transfer;
