//! What all packets but the header and the end have in common: their contents are compressed, each by itself.
//!
//! ```text
//! varint   length of the contents, at most 4 MiB
//! bytes    the contents, deflated (RFC 1951); what follows is passed over
//! ```

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::framing::fault::Fault;
use crate::framing::packet::MAX_PAYLOAD;
use crate::framing::varint::{Plain, PutPlain};

/// Longest contents.
pub(super) const MAX_CONTENTS: usize = 1 << 22;

/// Contents are sent when they are that long.
pub(super) const ENOUGH: usize = 1 << 18;

/// The payload of a packet.
///
/// # Errors
/// If the contents are too long, or the compressor fails, which it does not.
pub(super) fn squeeze(contents: &[u8]) -> io::Result<Vec<u8>> {
    let mut payload = Vec::with_capacity(contents.len() / 2 + 16);
    payload.put_varint(contents.len() as u64);
    let mut encoder = DeflateEncoder::new(payload, Compression::default());
    encoder.write_all(contents)?;
    let payload = encoder.finish()?;
    match contents.len() <= MAX_CONTENTS && payload.len() <= MAX_PAYLOAD {
        true => Ok(payload),
        false => Err(io::Error::other("a packet of a snapshot is too long")),
    }
}

/// The contents of a packet.
pub(super) fn expand(payload: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut plain = Plain(payload);
    let length: usize = plain.small()?;
    if length > MAX_CONTENTS {
        return Err(Fault::Unexpected("shorter contents"));
    }
    let mut contents = Vec::new();
    let read = DeflateDecoder::new(plain.0).take(length as u64).read_to_end(&mut contents);
    match read {
        Ok(read) if read == length => Ok(contents),
        _ => Err(Fault::Unexpected("deflated contents")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_read() {
        let contents: Vec<u8> = (0..100_000u32).flat_map(|it| (it * it).to_le_bytes()).collect();
        for len in [0, 1, 100, contents.len()] {
            let mut payload = squeeze(&contents[..len]).unwrap();
            payload.extend([0; 9]);
            assert_eq!(expand(&payload).as_deref(), Ok(&contents[..len]));
            assert!(expand(&payload[..payload.len() / 2]).is_err() || len < 2);
        }
        assert!(expand(&[0xff, 0xff, 0xff, 0xff, 7]).is_err());
        assert!(squeeze(&vec![0; MAX_CONTENTS + 1]).is_err());
    }
}
