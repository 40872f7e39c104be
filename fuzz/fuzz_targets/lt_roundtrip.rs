//! Whatever can be read can be written, and is then read as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lifetrace_fuzz::lt::digest;
use lifetrace_trace::AnyReader;
use lifetrace_trace::event::Event;
use lifetrace_trace::lt::{Closing, Item, Reader};
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
    let mut closing = Closing::default();
    while let Some((_, item)) = reader.next().expect("memory gives everything") {
        match item {
            Item::Fact(fact) => closing.take_fact(&fact),
            Item::Event(Event::Allocation(_)) => {
                let birth = reader.birth().expect("an allocation is a birth");
                closing.take_birth(birth.is_truncated);
            }
            Item::Event(_) => {}
        }
    }
    assert!(reader.damages().is_empty() && reader.is_complete(), "a copy is whole");
    let told = reader.index().and_then(|index| index.closing.as_ref());
    assert!(told.is_none_or(|told| *told == closing), "the index says what is so");
    assert_eq!(digest(&first), digest(&second));
    assert_eq!(digest(bytes), digest(&first));
});
