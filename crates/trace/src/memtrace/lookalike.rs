//! What a file that is no trace seems to be, for the error message.

use std::fmt;

/// A guess from the first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lookalike {
    /// A Memtrace trace with its bytes the other way round.
    BigEndianTrace,
    /// A heap snapshot of ours.
    HeapSnapshot,
    /// Compressed by the named program.
    Compressed(&'static str),
    /// An executable or a library.
    Elf,
    /// The profile of another tool, or a script or a report.
    Text,
    /// None of these; its first bytes.
    Unknown {
        /// The bytes.
        bytes: [u8; 4],
        /// How many of them there are.
        len: u8,
    },
}

const SIGNATURES: [(&[u8], Lookalike); 8] = [
    (&[0xf5, b'L', b'H', 0x1a], Lookalike::HeapSnapshot),
    (&[0xc1, 0xfc, 0x1f, 0xc1], Lookalike::BigEndianTrace),
    (&[0x1f, 0x8b], Lookalike::Compressed("gzip")),
    (&[0xfd, b'7', b'z', b'X', b'Z'], Lookalike::Compressed("xz")),
    (&[0x28, 0xb5, 0x2f, 0xfd], Lookalike::Compressed("zstd")),
    (&[0x04, 0x22, 0x4d, 0x18], Lookalike::Compressed("lz4")),
    (b"BZh", Lookalike::Compressed("bzip2")),
    (b"\x7fELF", Lookalike::Elf),
];

impl Lookalike {
    pub(crate) fn guess(start: &[u8]) -> Self {
        if let Some((_, found)) = SIGNATURES.iter().find(|(bytes, _)| start.starts_with(bytes)) {
            return *found;
        }
        let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
        if !start.is_empty() && start.iter().all(is_text) {
            return Self::Text;
        }
        let len = start.len().min(4);
        let mut bytes = [0; 4];
        bytes[..len].copy_from_slice(&start[..len]);
        Self::Unknown { bytes, len: len as u8 }
    }
}

impl fmt::Display for Lookalike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BigEndianTrace => f.write_str("a trace of a big-endian machine"),
            Self::HeapSnapshot => f.write_str("a heap snapshot, which lifetrace heap reads"),
            Self::Compressed(by) => write!(f, "data compressed by {by}"),
            Self::Elf => f.write_str("an ELF executable or library"),
            Self::Text => f.write_str("a text file"),
            Self::Unknown { bytes, len } => {
                f.write_str("data that begins with the bytes")?;
                bytes[..usize::from(*len)].iter().try_for_each(|byte| write!(f, " {byte:02x}"))
            }
        }
    }
}
