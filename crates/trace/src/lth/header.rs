//! What a snapshot says about itself: the payload of a header packet, which is not compressed.

use std::sync::Arc;

use super::error::Error;
use super::strings;
use super::{MAJOR, MINOR};
use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain};

/// More labels are left out.
const MAX_LABELS: usize = 256;

/// What a snapshot says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The program's name.
    pub program: Arc<str>,
    /// The process.
    pub pid: u64,
    /// Which of the process's snapshots this is; the first is 1.
    pub number: u32,
    /// When it was made, in nanoseconds since the Unix epoch.
    pub time: u64,
    /// What made the heap, with its version: `OCaml 4.13.1`.
    pub runtime: Arc<str>,
    /// Why it was made: `asked for`, `signal`, `at exit`, `import`.
    pub cause: Arc<str>,
    /// Length of a word: 1, 2, 4, 8 or 16. Addresses of blocks are multiples of it.
    pub word_bytes: u8,
    /// What else is known, by name.
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    /// The name of the file with the trace that samples are of.
    pub trace: Option<Arc<str>>,
}

impl Default for Header {
    fn default() -> Self {
        Self {
            program: "".into(),
            pid: 0,
            number: 1,
            time: 0,
            runtime: "".into(),
            cause: "".into(),
            word_bytes: 8,
            labels: Vec::new(),
            trace: None,
        }
    }
}

/// Whether a header may have words of that length.
pub(super) fn is_word(bytes: u8) -> bool {
    matches!(bytes, 1 | 2 | 4 | 8 | 16)
}

pub(super) fn encode(header: &Header) -> Vec<u8> {
    let mut payload = Vec::new();
    payload.put_varint(MAJOR);
    payload.put_varint(MINOR);
    payload.put_varint(header.word_bytes.into());
    payload.put_varint(header.time);
    payload.put_varint(header.pid);
    payload.put_varint(header.number.into());
    for string in [&header.program, &header.runtime, &header.cause] {
        strings::put(&mut payload, string);
    }
    payload.put_varint(header.trace.is_some().into());
    strings::put(&mut payload, header.trace.as_deref().unwrap_or_default());
    payload.put_varint(header.labels.len().min(MAX_LABELS) as u64);
    for (key, value) in header.labels.iter().take(MAX_LABELS) {
        strings::put(&mut payload, key);
        strings::put(&mut payload, value);
    }
    payload
}

/// What the snapshot says.
///
/// # Errors
/// If it is of a later major version; a fault if it makes no sense.
pub(super) fn decode(payload: &[u8]) -> Result<Result<Header, Error>, Fault> {
    let mut plain = Plain(payload);
    let (major, minor) = (plain.varint()?, plain.varint()?);
    if major != MAJOR {
        return Ok(Err(Error::UnsupportedVersion { major, minor }));
    }
    let word_bytes = plain.small()?;
    if !is_word(word_bytes) {
        return Err(Fault::Unexpected("a length of words"));
    }
    let (time, pid, number) = (plain.varint()?, plain.varint()?, plain.small()?);
    let mut string = || Ok(Arc::<str>::from(plain.string()?));
    let (program, runtime, cause) = (string()?, string()?, string()?);
    let has_trace = plain.varint()? != 0;
    let trace = Some(plain.string()?.into()).filter(|_| has_trace);
    let labels = plain.varint()?.min(MAX_LABELS as u64);
    let mut label = |_| Ok((plain.string()?.into(), plain.string()?.into()));
    let labels = (0..labels).map(&mut label).collect::<Result<_, Fault>>()?;
    Ok(Ok(Header { program, pid, number, time, runtime, cause, word_bytes, labels, trace }))
}
