//! Any bytes as a file of another profiler: no panic, and what is written is a whole trace of as many
//! births and deaths as are told.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lifetrace_import::import;
use lifetrace_import::naming::{Nameless, Resolver, Spot};
use lifetrace_trace::event::{Event, Location};
use lifetrace_trace::lt::{Item, Reader};

/// Names places at odd offsets, by nothing.
struct Odd;

impl Resolver for Odd {
    fn resolve(&mut self, spot: Spot<'_>) -> Result<Vec<Location>, Nameless> {
        match spot.offset % 2 {
            0 => Err(Nameless::Outside),
            _ => Ok(Vec::new()),
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut trace = Vec::new();
    let Ok(imported) = import(bytes, &mut trace, &mut Odd) else { return };
    let mut reader = Reader::open(&trace[..]).expect("what was written can be read");
    let (mut births, mut deaths) = (0, 0);
    while let Some((_, item)) = reader.next().expect("memory gives everything") {
        match item {
            Item::Event(Event::Allocation(_)) => births += 1,
            Item::Event(Event::Collection(_)) => deaths += 1,
            Item::Event(Event::Promotion(_)) | Item::Fact(_) => {}
        }
    }
    assert!(reader.damages().is_empty() && reader.is_complete(), "what was written is whole");
    assert_eq!((births, deaths), (imported.births, imported.deaths));
});
