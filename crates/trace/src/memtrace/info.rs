//! The first event of a trace: what it says about itself.

use super::cursor::{Cursor, PutFields};
use super::error::Fault;
use super::packet::{Header, Version};
use crate::event::TraceInfo;

/// Longest names and parameters that are written, in bytes.
const MAX_NAME: usize = 4096;

/// Longest context that is written, in bytes. With three names it fits in a packet.
const MAX_CONTEXT: usize = 16 * 1024;

/// Appends what follows the event header. Strings that are too long are cut.
pub(super) fn encode(info: &TraceInfo, version: Version, out: &mut Vec<u8>) {
    out.put_u64(info.sample_rate.to_bits());
    out.put_u8(info.word_bits);
    for name in [&info.executable_name, &info.host_name, &info.runtime_params] {
        out.put_string(cut(name, MAX_NAME));
    }
    out.put_u64(info.pid);
    if version.has_context() {
        out.put_string(cut(info.context.as_deref().unwrap_or_default(), MAX_CONTEXT));
    }
}

/// Reads what follows the event header. An empty context is none.
pub(super) fn decode(cursor: &mut Cursor<'_>, header: &Header) -> Result<TraceInfo, Fault> {
    Ok(TraceInfo {
        sample_rate: sample_rate(cursor.u64()?)?,
        word_bits: word_bits(cursor.u8()?)?,
        executable_name: cursor.string()?.into(),
        host_name: cursor.string()?.into(),
        runtime_params: cursor.string()?.into(),
        pid: cursor.u64()?,
        start_time: header.begin,
        initial_domain: header.domain,
        context: match header.version.has_context() {
            true => Some(cursor.string()?.into()).filter(|context: &String| !context.is_empty()),
            false => None,
        },
    })
}

/// What a reader insists on.
pub(super) fn is_valid(info: &TraceInfo) -> bool {
    is_rate(info.sample_rate) && is_word(info.word_bits)
}

fn sample_rate(bits: u64) -> Result<f64, Fault> {
    let rate = f64::from_bits(bits);
    let expected = "a sampling rate above 0 and at most 1, as the bits of a double";
    if is_rate(rate) { Ok(rate) } else { Err(Fault::Unexpected { expected, found: bits }) }
}

fn word_bits(bits: u8) -> Result<u8, Fault> {
    let expected = "words of 32 or 64 bits";
    if is_word(bits) { Ok(bits) } else { Err(Fault::Unexpected { expected, found: bits.into() }) }
}

fn is_rate(rate: f64) -> bool {
    rate > 0.0 && rate <= 1.0
}

fn is_word(bits: u8) -> bool {
    matches!(bits, 32 | 64)
}

fn cut(value: &str, max: usize) -> &str {
    let fits = |&len: &usize| value.is_char_boundary(len);
    let len = (0..=max.min(value.len())).rev().find(fits).unwrap_or_default();
    &value[..len]
}
