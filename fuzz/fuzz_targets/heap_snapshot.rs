//! Any bytes: they are a heap snapshot, of which all can be asked; or what is wrong with them is said. What is after the
//! first byte stands in an intact packet as well, so that checksums keep nobody from getting further.

#![no_main]

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use libfuzzer_sys::fuzz_target;
use lifetrace_snapshot::dominators::Dominators;
use lifetrace_snapshot::lth;
use lifetrace_snapshot::paths::Shortest;
use lifetrace_snapshot::retained::Retained;
use lifetrace_trace::lth::{BlockNumber, Header, Outcome, Writer, detail};

fuzz_target!(|bytes: &[u8]| {
    look(bytes);
    let Some((&kind, contents)) = bytes.split_first() else { return };
    let whole = Writer::new(Vec::new(), &Header::default()).unwrap();
    let mut file = whole.finish(&Outcome::default()).unwrap();
    let packet = packet(2 + kind % 5, contents);
    drop(detail(&packet[..], BlockNumber(kind.into())));
    file.extend(packet);
    look(&file);
});

fn look(bytes: &[u8]) {
    let Ok(snapshot) = lth::read(bytes) else { return };
    let heap = &snapshot.heap;
    let dominators = Dominators::of(&heap.graph);
    let retained = Retained::of(&heap.graph, &dominators);
    let shortest = Shortest::of(&heap.graph, |root| root.0 == 1);
    for id in heap.graph.blocks() {
        assert!(!heap.name(id).is_empty() || !heap.kinds.is_empty());
        assert_eq!(shortest.path(id).is_empty(), !dominators.is_reachable(id));
        assert!(heap.place_in_file(id).is_some() && retained.blocks(id) < u32::MAX);
    }
}

fn packet(kind: u8, contents: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    let mut length = contents.len();
    while length >= 0x80 {
        payload.push(length as u8 | 0x80);
        length >>= 7;
    }
    payload.push(length as u8);
    let mut encoder = DeflateEncoder::new(payload, Compression::fast());
    encoder.write_all(contents).unwrap();
    let payload = encoder.finish().unwrap();
    let [low, middle, high, _] = (payload.len() as u32).to_le_bytes();
    let covered = [&[kind, low, middle, high], &payload[..]].concat();
    let checksum = crc32fast::hash(&covered).to_le_bytes();
    [&[0xf5, 0x4c, 0x48, 0x1a], &covered[..4], &checksum, &payload].concat()
}
