//! What a trace says about itself: the payload of a header packet.

use super::error::Error;
use super::{MAJOR, MINOR, Version};
use crate::event::TraceInfo;
use crate::framing::fault::Fault;
use crate::framing::varint::{Plain, PutPlain, cut};
use crate::ids::{DomainId, Timestamp};

/// Longest string in a header, in bytes; longer ones are cut.
const MAX_STRING: usize = 1 << 16;

pub(super) fn encode(info: &TraceInfo) -> Vec<u8> {
    let mut payload = Vec::new();
    payload.put_varint(MAJOR);
    payload.put_varint(MINOR);
    payload.put_varint(info.start_time.0);
    payload.extend_from_slice(&info.sample_rate.to_bits().to_le_bytes());
    payload.put_varint(info.word_bits.into());
    payload.put_varint(info.pid);
    payload.put_varint(info.initial_domain.0.into());
    for string in [&info.executable_name, &info.host_name, &info.runtime_params] {
        payload.put_bytes(cut(string, MAX_STRING).as_bytes());
    }
    payload.put_varint(info.context.is_some().into());
    payload.put_bytes(cut(info.context.as_deref().unwrap_or_default(), MAX_STRING).as_bytes());
    payload
}

/// What the trace says, and its version.
///
/// # Errors
/// If it is of a later major version; a fault if it makes no sense.
pub(super) fn decode(payload: &[u8]) -> Result<Result<(TraceInfo, Version), Error>, Fault> {
    let mut plain = Plain(payload);
    let (major, minor) = (plain.varint()?, plain.varint()?);
    if !(1..=MAJOR).contains(&major) {
        return Ok(Err(Error::UnsupportedVersion { major, minor }));
    }
    let start_time = Timestamp(plain.varint()?);
    let sample_rate = f64::from_bits(plain.u64()?);
    let word_bits = plain.small()?;
    if !is_valid(sample_rate, word_bits) {
        return Err(Fault::Unexpected("a sampling rate and a length of words"));
    }
    let info = TraceInfo {
        sample_rate,
        word_bits,
        start_time,
        pid: plain.varint()?,
        initial_domain: DomainId(plain.small()?),
        executable_name: plain.string()?,
        host_name: plain.string()?,
        runtime_params: plain.string()?,
        context: match plain.varint()? {
            0 => None,
            _ => Some(plain.string()?),
        },
    };
    Ok(Ok((info, Version { major, minor })))
}

/// What a reader insists on.
pub(super) fn is_valid(sample_rate: f64, word_bits: u8) -> bool {
    sample_rate > 0.0 && sample_rate <= 1.0 && matches!(word_bits, 32 | 64)
}
