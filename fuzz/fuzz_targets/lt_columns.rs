//! Any payloads, each in a packet whose checksum is right: what gets as far as the models and the
//! entropy coder must do no harm there.
//!
//! The input is a sequence of payloads: kind (1 byte), length (2 bytes), bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lifetrace_fuzz::lt::{header, packet, read};

fuzz_target!(|bytes: &[u8]| {
    let mut trace = header();
    let mut rest = bytes;
    while let Some(([kind, low, high], tail)) = rest.split_first_chunk() {
        let len = usize::from(u16::from_le_bytes([*low, *high])).min(tail.len());
        trace.extend(packet(*kind % 6, &tail[..len]));
        rest = &tail[len..];
    }
    let whole = read(&trace, true);
    let quick = read(&trace, false);
    assert!(whole <= quick, "backtraces are all that skipping them leaves out");
});
