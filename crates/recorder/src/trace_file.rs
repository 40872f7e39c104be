//! The output of one session: a file that ends with a whole packet, whatever happens.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A trace file being written, a whole packet at each write. What a full disk left of a packet is
/// cut off again; a packet that would exceed the limit is not begun.
#[derive(Debug)]
pub(crate) struct TraceFile {
    file: File,
    limit: u64,
    length: Length,
}

/// How many bytes have been written whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Length(Arc<AtomicU64>);

/// The user wants the trace to be no longer.
#[derive(Debug, thiserror::Error)]
#[error("the trace has the greatest size that it may have")]
pub(crate) struct LimitReached;

impl TraceFile {
    /// `limit` is in bytes.
    pub(crate) fn new(file: File, limit: Option<u64>) -> TraceFile {
        TraceFile { file, limit: limit.unwrap_or(u64::MAX), length: Length::default() }
    }

    /// Greatest length, in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Follows what is written.
    pub(crate) fn length(&self) -> Length {
        self.length.clone()
    }
}

impl Length {
    /// In bytes.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// It is so long by now.
    pub(crate) fn set(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }
}

impl Write for TraceFile {
    fn write(&mut self, packet: &[u8]) -> io::Result<usize> {
        let (before, added) = (self.length.get(), packet.len() as u64);
        if before + added > self.limit {
            return Err(io::Error::other(LimitReached));
        }
        match self.file.write_all(packet) {
            Ok(()) => {
                self.length.0.store(before + added, Ordering::Relaxed);
                Ok(packet.len())
            }
            Err(error) => {
                // Not every file can be cut (pipes, devices); readers cope with half a packet.
                let _ = self.file.set_len(before);
                Err(error)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether an error says nothing worse than [`LimitReached`].
pub(crate) fn is_limit(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<LimitReached>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut file = TraceFile::new(full, None);
        let error = file.write(b"x").unwrap_err();
        assert_eq!((error.kind(), is_limit(&error)), (io::ErrorKind::StorageFull, false));
        assert_eq!(file.length().get(), 0);
    }

    #[test]
    fn packets_follow_each_other_up_to_the_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        let mut file = TraceFile::new(File::create(&path).unwrap(), Some(7));
        file.write_all(b"one").unwrap();
        assert!(is_limit(&file.write_all(b"three").unwrap_err()));
        file.write_all(b"four").unwrap();
        assert!(is_limit(&file.write_all(b"5").unwrap_err()));
        assert_eq!(std::fs::read(&path).unwrap(), b"onefour");
        assert_eq!(file.length().get(), 7);
    }
}
