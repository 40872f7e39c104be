//! Whatever can be read can be written, and is then read as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lifetrace_fuzz::lt::digest;
use lifetrace_trace::lt::{Reader, Writer, copy};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = Reader::open(bytes) else { return };
    let Ok(mut writer) = Writer::new(Vec::new(), reader.info()) else { return };
    copy(&mut reader, &mut writer).expect("memory takes everything");
    let first = writer.finish().expect("memory takes everything");
    let mut reader = Reader::open(&first[..]).expect("a copy can be read");
    let mut writer = Writer::new(Vec::new(), reader.info()).expect("a copy has a header");
    copy(&mut reader, &mut writer).expect("memory takes everything");
    assert!(reader.damages().is_empty() && reader.is_complete(), "a copy is whole");
    let second = writer.finish().expect("memory takes everything");
    assert_eq!(digest(&first), digest(&second));
    assert_eq!(digest(bytes), digest(&first));
});
