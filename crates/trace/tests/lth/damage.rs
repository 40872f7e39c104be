//! Every golden file, cut at every byte and with every single bit changed: it is an error, or what is told is told as
//! before.

use std::ops::Range;

use lifetrace_trace::lth::{Error, Item, MAJOR, Reader};

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

/// The kind of each packet, and where it lies.
fn packets(bytes: &[u8]) -> Vec<(u8, Range<usize>)> {
    let mut at = 0;
    let mut packets = Vec::new();
    while at < bytes.len() {
        let [low, middle, high] = [bytes[at + 5], bytes[at + 6], bytes[at + 7]];
        let len = 12 + u32::from_le_bytes([low, middle, high, 0]) as usize;
        packets.push((bytes[at + 4], at..at + len));
        at += len;
    }
    packets
}

/// With the first bytes of one that is there, and the checksum that the document asks for.
fn packet(first: &[u8], kind: u8, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_le_bytes();
    let covered = [kind, len[0], len[1], len[2]];
    let checksum = crc32fast::hash(&[&covered[..], payload].concat());
    [&first[..4], &covered[..], &checksum.to_le_bytes(), payload].concat()
}

#[test]
fn packets_of_later_versions_are_passed_over() {
    let bytes = crate::sample::snapshot();
    let (all, _) = read(&bytes).unwrap();
    let mut packets = packets(&bytes).into_iter();
    // The header is the first.
    let mut mixed = bytes[packets.next().unwrap().1].to_vec();
    for (_, at) in packets {
        mixed.extend(packet(&bytes, 200, b"later"));
        mixed.extend(&bytes[at]);
    }
    let (told, is_complete) = read(&mixed).unwrap();
    assert!(is_complete && told == all);
}

#[test]
fn a_later_major_version_is_refused() {
    let bytes = crate::sample::snapshot();
    let (kind, header) = packets(&bytes).swap_remove(0);
    let mut payload = bytes[header][12..].to_vec();
    assert_eq!(u64::from(payload[0]), MAJOR);
    payload[0] = 9;
    let error = Reader::open(&packet(&bytes, kind, &payload)[..]).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::UnsupportedVersion { major: 9, .. }), "{error}");
}

#[test]
fn missing_blocks_are_counted() {
    let bytes = crate::sample::snapshot();
    let packets = packets(&bytes);
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
