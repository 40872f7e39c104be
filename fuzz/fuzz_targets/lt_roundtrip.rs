//! Whatever can be read can be written, and is then read as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lifetrace_fuzz::lt::digest;
use lifetrace_trace::AnyReader;
use lifetrace_trace::lt::Reader;
use lifetrace_trace::transfer::{AnyWriter, Format, copy};

fn copied(reader: Reader<&[u8]>) -> Option<Vec<u8>> {
    let mut writer = AnyWriter::new(Vec::new(), reader.info(), Format::Lt).ok()?;
    copy(&mut AnyReader::lt(reader), &mut writer).expect("memory takes everything");
    Some(writer.finish().expect("memory takes everything"))
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(reader) = Reader::open(bytes) else { return };
    let Some(first) = copied(reader) else { return };
    let second = copied(Reader::open(&first[..]).expect("a copy can be read"));
    let second = second.expect("a copy has a header");
    let mut reader = Reader::open(&first[..]).expect("a copy can be read");
    while reader.next().expect("memory gives everything").is_some() {}
    assert!(reader.damages().is_empty() && reader.is_complete(), "a copy is whole");
    assert_eq!(digest(&first), digest(&second));
    assert_eq!(digest(bytes), digest(&first));
});
