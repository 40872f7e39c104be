//! The output of one session: a file that ends with a whole packet, whatever happens.

use std::fs::File;
use std::io::{self, Write};

/// A trace file being written, a whole packet at each write. What a full disk left of a packet is
/// cut off again.
#[derive(Debug)]
pub(crate) struct TraceFile {
    file: File,
    written: u64,
}

impl TraceFile {
    pub(crate) fn new(file: File) -> TraceFile {
        TraceFile { file, written: 0 }
    }

    /// Length of what has been written whole, in bytes.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }
}

impl Write for TraceFile {
    fn write(&mut self, packet: &[u8]) -> io::Result<usize> {
        match self.file.write_all(packet) {
            Ok(()) => {
                self.written += packet.len() as u64;
                Ok(packet.len())
            }
            Err(error) => {
                // Not every file can be cut (pipes, devices); readers cope with half a packet.
                let _ = self.file.set_len(self.written);
                Err(error)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error() {
        let mut file = TraceFile::new(File::options().write(true).open("/dev/full").unwrap());
        assert_eq!(file.write(b"x").unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(file.written, 0);
    }

    #[test]
    fn packets_follow_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        let mut file = TraceFile::new(File::create(&path).unwrap());
        file.write_all(b"one").unwrap();
        file.write_all(b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"onetwo");
    }
}
