//! Every golden file, cut at every byte and with every single bit changed: it is an error, or what is told is told as
//! before.

use lifetrace_trace::lth::{Error, Item, Reader};

use crate::golden::files;
use crate::support::{Told, read};

/// Whether `some` are `all` but for stretches that are missing.
fn is_part(some: &[Told], all: &[Told]) -> bool {
    let mut rest = all.iter();
    some.iter().all(|one| rest.any(|other| other == one))
}

#[test]
fn what_is_before_any_cut_is_read() {
    for (path, bytes) in files() {
        let (all, _) = read(&bytes).unwrap();
        let mut least = 0;
        for len in 0..bytes.len() {
            let Some((told, is_complete)) = read(&bytes[..len]) else {
                assert!(least == 0, "{}: nothing of more, cut at {len}", path.display());
                continue;
            };
            assert!(!is_complete, "{}: cut at {len}", path.display());
            assert!(told == all[..told.len()], "{}: cut at {len}", path.display());
            assert!(told.len() >= least, "{}: less of more, cut at {len}", path.display());
            least = told.len();
        }
        assert!(least + 1 > all.len(), "{}", path.display());
    }
}

#[test]
fn a_changed_bit_costs_its_packet() {
    for (path, mut bytes) in files() {
        let (all, _) = read(&bytes).unwrap();
        for at in 0..bytes.len() {
            let bit = 1 << (at % 8);
            bytes[at] ^= bit;
            let (told, is_complete) = read(&bytes).unwrap();
            assert!(!is_complete, "{}: nobody notices byte {at}", path.display());
            assert!(is_part(&told, &all), "{}: wrong records by byte {at}", path.display());
            bytes[at] ^= bit;
        }
    }
}

#[test]
fn missing_blocks_are_counted() {
    let bytes = crate::sample::snapshot();
    let mut at = 0;
    let mut packets = Vec::new();
    while at < bytes.len() {
        let [low, middle, high] = [bytes[at + 5], bytes[at + 6], bytes[at + 7]];
        let len = 12 + u32::from_le_bytes([low, middle, high, 0]) as usize;
        packets.push((bytes[at + 4], at..at + len));
        at += len;
    }
    let (_, blocks) = packets.iter().find(|(kind, _)| *kind == 4).unwrap();
    let without = [&bytes[..blocks.start], &bytes[blocks.end..]].concat();
    let mut reader = Reader::open(&without[..]).unwrap();
    while let Some(item) = reader.next().unwrap() {
        assert!(!matches!(item, Item::Block { number, .. } if number.0 == 0));
    }
    assert!(reader.damages().iter().any(|damage| damage.blocks.is_some_and(|it| it > 300)));
    assert!(!reader.is_complete());
}

#[test]
fn traces_are_no_snapshots() {
    let trace = std::fs::read(crate::golden::folder().join("../traces/leaking.lt")).unwrap();
    assert!(matches!(Reader::open(&trace[..]), Err(Error::NotASnapshot(_))));
    assert!(matches!(Reader::open(&[][..]), Err(Error::Empty)));
}
