//! The output of a writer, until it fails.

use std::io::{self, Write};

/// Where a writer's bytes go, and how many there were; nothing more is written after an error.
pub(crate) struct Output<W> {
    pub(crate) inner: W,
    /// In bytes.
    pub(crate) written: u64,
    has_failed: bool,
}

impl<W> Output<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, written: 0, has_failed: false }
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        match self.has_failed {
            true => Err(io::Error::other("an earlier write to this trace failed")),
            false => Ok(()),
        }
    }
}

impl<W: Write> Output<W> {
    pub(crate) fn write(&mut self, packets: &[u8]) -> io::Result<()> {
        self.check()?;
        let outcome = self.inner.write_all(packets);
        match outcome {
            Ok(()) => self.written += packets.len() as u64,
            Err(_) => self.has_failed = true,
        }
        outcome
    }
}
