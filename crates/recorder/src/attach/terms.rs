//! What is asked of an attachment, and what is told of it.

use std::time::Duration;

use crate::collector::CollectorOptions;

/// What to attach to, and how to record it.
#[derive(Clone, Debug)]
pub struct AttachConfig {
    /// The process.
    pub pid: u32,
    /// The content of the agent's shared library.
    pub preload: &'static [u8],
    /// How to record, and where to.
    pub options: CollectorOptions,
}

/// What the process has felt of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// For how long the thread stood still that was borrowed.
    pub borrowed: Duration,
    /// How many times a thread was stopped until one could be borrowed.
    pub tries: u32,
    /// For how long all threads stood still.
    pub all: Duration,
    /// How many they were.
    pub threads: usize,
    /// From the first look to the first block that could be sampled.
    pub took: Duration,
}

/// Why there is nothing more to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachmentEnd {
    /// The process has ended.
    Ended,
    /// The recording has.
    Stopped,
}

/// What has been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detached {
    /// The recorder has ended the recording, and put everything back.
    ByRecorder(u32),
    /// There was no recorder any more; everything has been put back.
    WithoutRecorder,
}
