//! Finds packets in a stream of bytes, whatever lies between them.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use super::packet::{self, HEAD, Kind, Mark};

/// So much is read at a time.
const CHUNK: usize = 1 << 16;

/// Finds packets.
#[derive(Debug)]
pub(crate) struct Scanner<R> {
    input: R,
    mark: Mark,
    buffer: Vec<u8>,
    /// What has been used of the buffer.
    used: usize,
    /// Where the buffer begins, in bytes from the start of the input.
    base: u64,
    is_at_end: bool,
}

/// A packet whose checksum is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) kind: Kind,
    /// Of its first byte.
    pub(crate) offset: u64,
    /// Bytes before it that belong to no packet.
    pub(crate) skipped: u64,
    /// In the scanner's buffer.
    payload: Range<usize>,
}

impl Found {
    /// Length with the head.
    pub(crate) fn len(&self) -> u64 {
        (HEAD + self.payload.len()) as u64
    }
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Packet(Found),
    /// The input ends; so many bytes before its end belong to no packet, and these begin as one.
    End {
        skipped: u64,
        is_cut: bool,
    },
}

impl<R: Read> Scanner<R> {
    pub(crate) fn new(input: R, mark: Mark) -> Self {
        Self { input, mark, buffer: Vec::new(), used: 0, base: 0, is_at_end: false }
    }

    /// Bytes up to here have been looked at.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.used as u64
    }

    /// The payload of the packet that was found last.
    pub(crate) fn payload(&self, found: &Found) -> &[u8] {
        &self.buffer[found.payload.clone()]
    }

    /// What has been read and not used, to tell what kind of file this is.
    pub(crate) fn beginning(&mut self) -> io::Result<&[u8]> {
        self.fill(HEAD)?;
        Ok(&self.buffer[self.used..])
    }

    /// Goes on to the next intact packet.
    ///
    /// # Errors
    /// The input's.
    pub(crate) fn next(&mut self) -> io::Result<Next> {
        self.discard_used();
        let start = self.offset();
        let mut is_cut = false;
        loop {
            if !self.fill(HEAD)? {
                is_cut |= self.buffer.len() > self.used && self.offset() == start;
                self.used = self.buffer.len();
                return Ok(Next::End { skipped: self.offset() - start, is_cut });
            }
            if let Some((kind, len)) = self.head() {
                if !self.fill(HEAD + len)? {
                    is_cut |= self.offset() == start;
                } else if packet::is_intact(&self.buffer[self.used..][..HEAD + len]) {
                    let (offset, skipped) = (self.offset(), self.offset() - start);
                    let payload = self.used + HEAD..self.used + HEAD + len;
                    self.used += HEAD + len;
                    return Ok(Next::Packet(Found { kind, offset, skipped, payload }));
                }
            }
            self.skip_to_mark();
        }
    }

    fn head(&self) -> Option<(Kind, usize)> {
        self.buffer[self.used..].first_chunk().and_then(|head| self.mark.head(head))
    }

    /// Goes to the next byte that may begin a mark.
    fn skip_to_mark(&mut self) {
        let rest = &self.buffer[self.used + 1..];
        let distance = rest.iter().position(|byte| *byte == self.mark.0[0]).unwrap_or(rest.len());
        self.used += 1 + distance;
        self.discard_used();
    }

    /// Reads until so many unused bytes are there; false if the input has no more.
    fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        while !self.has(wanted) && !self.is_at_end {
            let missing = (self.used + wanted - self.buffer.len()).max(CHUNK) as u64;
            match self.input.by_ref().take(missing).read_to_end(&mut self.buffer) {
                Ok(count) => self.is_at_end = (count as u64) < missing,
                // That is said again when more is wanted.
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.has(wanted) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.has(wanted))
    }

    fn has(&self, wanted: usize) -> bool {
        self.buffer.len() - self.used >= wanted
    }

    /// Gives used bytes up when they are many.
    fn discard_used(&mut self) {
        if self.used >= CHUNK {
            self.buffer.drain(..self.used);
            self.base += self.used as u64;
            self.used = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = Mark(*b"\xf5LT\x1a");

    /// Kind, bytes before it, length of the payload.
    type Seen = (u8, u64, usize);

    fn packets(bytes: &[u8]) -> (Vec<Seen>, (u64, bool)) {
        let mut scanner = Scanner::new(bytes, MARK);
        let mut packets = Vec::new();
        loop {
            match scanner.next().unwrap() {
                Next::Packet(found) => {
                    packets.push((found.kind.0, found.skipped, scanner.payload(&found).len()));
                }
                Next::End { skipped, is_cut } => return (packets, (skipped, is_cut)),
            }
        }
    }

    fn three() -> Vec<u8> {
        let mut bytes = Vec::new();
        MARK.put(Kind(1), b"one", &mut bytes);
        MARK.put(Kind(2), &[0xf5; 100_000], &mut bytes);
        MARK.put(Kind(3), b"", &mut bytes);
        bytes
    }

    #[test]
    fn packets_are_found() {
        let (found, end) = packets(&three());
        assert_eq!(found, [(1, 0, 3), (2, 0, 100_000), (3, 0, 0)]);
        assert_eq!(end, (0, false));
    }

    #[test]
    fn garbage_between_them_is_passed_over() {
        let mut bytes = three();
        bytes.splice(15..15, *b"\xf5LT\x1a garbage \xf5\xf5L");
        let (found, end) = packets(&bytes);
        assert_eq!(
            found.iter().map(|it| (it.0, it.1)).collect::<Vec<_>>(),
            [(1, 0), (2, 16), (3, 0)]
        );
        assert_eq!(end, (0, false));
    }

    #[test]
    fn a_cut_packet_is_told() {
        let bytes = three();
        assert_eq!(packets(&bytes[..bytes.len() - 1]).1, (11, true));
        assert_eq!(packets(&bytes[..20]).1, (5, true));
        assert_eq!(packets(b"something else").1, (14, false));
    }
}
