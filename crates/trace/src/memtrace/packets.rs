//! A stream of bytes cut into packets, one of which is in memory at a time.

use std::io::{self, Read};

use super::packet::{HEADER_START, Header, MAGIC, MAX_PACKET, Version};
use super::{Error, Lookalike};

/// Reads packets one after another.
pub(super) struct Packets<R> {
    input: R,
    /// Bytes read so far.
    offset: u64,
    /// The current packet, header included, as much of it as there is.
    bytes: Vec<u8>,
}

impl<R: Read> Packets<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, offset: 0, bytes: Vec::with_capacity(MAX_PACKET) }
    }

    /// Reads the next packet; `None` when the input ends here. The packet may be cut: then there are
    /// fewer [`bytes`](Self::bytes) than its header says.
    pub(super) fn advance(&mut self) -> Result<Option<Header>, Error> {
        self.bytes.clear();
        self.fill(HEADER_START)?;
        if self.bytes.is_empty() {
            return if self.offset == 0 { Err(Error::Empty) } else { Ok(None) };
        }
        self.check_magic()?;
        self.require(HEADER_START)?;
        let version = self.version()?;
        self.fill(version.header_len())?;
        self.require(version.header_len())?;
        let header =
            Header::decode(version, &self.bytes).map_err(|fault| fault.at(self.packet_start()))?;
        self.fill(header.len)?;
        Ok(Some(header))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Where the current packet begins.
    pub(super) fn packet_start(&self) -> u64 {
        self.offset - self.bytes.len() as u64
    }

    fn check_magic(&self) -> Result<(), Error> {
        let magic = MAGIC.to_le_bytes();
        let len = self.bytes.len().min(magic.len());
        if self.bytes[..len] == magic[..len] {
            return Ok(());
        }
        let offset = self.packet_start();
        if offset == 0 {
            return Err(Error::NotATrace(Lookalike::guess(&self.bytes)));
        }
        let mut found = [0; 8];
        found[..len].copy_from_slice(&self.bytes[..len]);
        let expected = "the start of a packet, 0xc1fc1fc1";
        Err(Error::Corrupt { offset, expected, found: u64::from_le_bytes(found) })
    }

    fn version(&self) -> Result<Version, Error> {
        let found =
            u16::from_le_bytes([self.bytes[HEADER_START - 2], self.bytes[HEADER_START - 1]]);
        let offset = self.packet_start();
        Version::from_number(found).ok_or(Error::UnsupportedVersion { offset, found })
    }

    fn require(&self, header_len: usize) -> Result<(), Error> {
        if self.bytes.len() < header_len {
            return Err(Error::Truncated { offset: self.offset, what: "a packet's header" });
        }
        Ok(())
    }

    /// Reads until `len` bytes of the packet are there or the input ends.
    fn fill(&mut self, len: usize) -> Result<(), Error> {
        let before = self.bytes.len();
        let mut filled = before;
        self.bytes.resize(len, 0);
        let outcome = read_up_to(&mut self.input, &mut self.bytes, &mut filled);
        self.bytes.truncate(filled);
        self.offset += (filled - before) as u64;
        outcome.map_err(|source| Error::Io { offset: self.offset, source })
    }
}

/// Like `read_exact`, but says how much was read when the input ends or fails.
fn read_up_to(input: &mut impl Read, bytes: &mut [u8], filled: &mut usize) -> io::Result<()> {
    while *filled < bytes.len() {
        match input.read(&mut bytes[*filled..]) {
            Ok(0) => break,
            Ok(read) => *filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
