//! Damage takes no more than the part it is in.

use lifetrace_trace::lt::{Error, Listing, PacketKind, Reader, Writer};

use crate::sample;
use crate::support::{Record, fixtures, info, read_from};

/// What is read of a damaged trace must be what was told, part for part, with one stretch missing.
fn check(bytes: &[u8], parts: &[Vec<Record>], least: usize, what: &str) {
    let mut reader = match Reader::open(bytes) {
        Ok(reader) => reader,
        Err(error) => panic!("{what}: {error}"),
    };
    assert_eq!(*reader.info(), info(), "{what}");
    let told = read_from(&mut reader);
    let all: Vec<&Record> = parts.iter().flatten().collect();
    let common = told.iter().zip(&all).take_while(|(read, written)| *read == **written).count();
    let rest = &told[common..];
    let end = all.len() - rest.len().min(all.len());
    assert!(rest.iter().eq(all[end..].iter().copied()), "{what}: events that nobody wrote");
    let missing = all.len() - told.len();
    assert!(missing <= least, "{what}: {missing} events are missing");
    assert!(missing == 0 || !reader.damages().is_empty(), "{what}: nobody says so");
}

#[test]
fn a_flipped_byte_costs_one_part_at_most() {
    let (trace, parts) = (sample::trace(), sample::parts());
    let longest = parts.iter().map(Vec::len).max().unwrap();
    for at in 0..trace.len() {
        let mut damaged = trace.clone();
        damaged[at] ^= 1 << (at % 8) | 0x10;
        check(&damaged, &parts, longest, &format!("byte {at}"));
    }
}

#[test]
fn what_is_before_the_cut_is_read() {
    let (trace, parts) = (sample::trace(), sample::parts());
    let packets: Vec<_> = Listing::new(&trace[..]).map(Result::unwrap).collect();
    let first_header = packets[0].len as usize;
    for len in 0..trace.len() {
        if len < first_header {
            assert!(Reader::open(&trace[..len]).is_err());
            continue;
        }
        let steps = packets.iter().filter(|it| it.offset + it.len <= len as u64);
        let whole: u64 = steps
            .map(|it| match it.kind {
                PacketKind::Data(columns) => columns.steps,
                _ => 0,
            })
            .sum();
        let mut reader = Reader::open(&trace[..len]).unwrap();
        let told = read_from(&mut reader);
        let all = parts.concat();
        assert_eq!(told[..], all[..told.len()]);
        // Directives are steps as well.
        assert!(told.len() as u64 <= whole && told.len() as u64 * 2 >= whole, "{len}");
        assert!(!reader.is_complete());
        let is_between = packets.iter().any(|it| it.offset + it.len == len as u64);
        assert_eq!(reader.damages().is_empty(), is_between, "{len}");
    }
}

#[test]
fn a_packet_that_is_gone_is_missed() {
    let (trace, parts) = (sample::trace(), sample::parts());
    for packet in Listing::new(&trace[..]).map(Result::unwrap) {
        let mut damaged = trace.clone();
        damaged.drain(packet.offset as usize..(packet.offset + packet.len) as usize);
        check(&damaged, &parts, 169, &format!("packet at {}", packet.offset));
    }
}

#[test]
fn births_that_are_missing_are_counted() {
    let trace = sample::trace();
    let packets: Vec<_> = Listing::new(&trace[..]).map(Result::unwrap).collect();
    let checkpoint = packets.iter().filter(|it| it.kind == PacketKind::Checkpoint).nth(1).unwrap();
    let mut damaged = trace.clone();
    damaged[checkpoint.offset as usize + 20] ^= 1;
    let mut reader = Reader::open(&damaged[..]).unwrap();
    read_from(&mut reader);
    let [damage] = reader.damages() else { panic!("{:?}", reader.damages()) };
    assert_eq!(damage.offset, checkpoint.offset);
    // Some ids were left out on purpose, so more seem to be missing than there are.
    assert!(damage.births.is_some_and(|births| births >= 60), "{damage}");
}

#[test]
fn a_listing_tells_of_all_bytes() {
    let trace = sample::trace();
    let mut damaged = trace.clone();
    for at in [100, 1000, trace.len() - 1] {
        damaged[at] ^= 1;
    }
    let mut listing = Listing::new(&damaged[..]);
    let told: u64 = listing.by_ref().map(Result::unwrap).map(|it| it.skipped + it.len).sum();
    let at_the_end = listing.position() - told;
    assert_eq!((listing.position(), at_the_end), (trace.len() as u64, 20));
}

#[test]
fn packets_of_later_versions_are_passed_over() {
    let (trace, parts) = (sample::trace(), sample::parts());
    let mut mixed = Vec::new();
    for packet in Listing::new(&trace[..]).map(Result::unwrap) {
        mixed.extend(unknown_packet());
        mixed.extend(&trace[packet.offset as usize..][..packet.len as usize]);
    }
    let mut reader = Reader::open(&mixed[..]).unwrap();
    assert_eq!(read_from(&mut reader), parts.concat());
    assert_eq!(reader.damages(), []);
}

/// Kind 200, with the checksum that the document asks for.
fn unknown_packet() -> Vec<u8> {
    let covered = [200, 5, 0, 0];
    let checksum = crc32fast::hash(&[&covered[..], b"later"].concat());
    [&[0xf5, b'L', b'T', 0x1a], &covered[..], &checksum.to_le_bytes(), b"later"].concat()
}

#[test]
fn other_files_are_refused_by_name() {
    let error = |bytes: &[u8]| Reader::open(bytes).map(|_| ()).unwrap_err();
    assert!(matches!(error(b""), Error::Empty));
    assert!(error(b"\x1f\x8b whatever").to_string().contains("gzip"));
    assert!(error(b"#!/bin/sh\n").to_string().contains("text"));
    let memtrace = std::fs::read(fixtures().join("ocamlopt-1e-6.ctf")).unwrap();
    assert!(matches!(error(&memtrace), Error::NotATrace(_)));
}

#[test]
fn a_later_major_version_is_refused() {
    let trace = Writer::new(Vec::new(), &info()).unwrap().finish().unwrap();
    let packet = Listing::new(&trace[..]).next().unwrap().unwrap();
    let mut payload = trace[12..packet.len as usize].to_vec();
    payload[0] = 9;
    let len = (payload.len() as u32).to_le_bytes();
    let covered = [1, len[0], len[1], len[2]];
    let checksum = crc32fast::hash(&[&covered[..], &payload].concat());
    let later = [&trace[..4], &covered[..], &checksum.to_le_bytes(), &payload].concat();
    let error = Reader::open(&later[..]).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::UnsupportedVersion { major: 9, .. }), "{error}");
}

#[test]
fn random_bytes_in_every_column_do_no_harm() {
    let trace = sample::trace();
    let packets: Vec<_> = Listing::new(&trace[..]).map(Result::unwrap).collect();
    let mut seed = 1u64;
    for round in 0..400 {
        let mut damaged = trace.clone();
        let packet = packets[round % packets.len()];
        let (start, end) = (packet.offset as usize, (packet.offset + packet.len) as usize);
        for _ in 0..3 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = start + 12 + (seed >> 33) as usize % (end - start - 12).max(1);
            damaged[at.min(end - 1)] = (seed >> 20) as u8;
        }
        // With a right checksum, so that the models see it.
        let checksum = [&damaged[start + 4..start + 8], &damaged[start + 12..end]].concat();
        let checksum = crc32fast::hash(&checksum).to_le_bytes();
        damaged[start + 8..start + 12].copy_from_slice(&checksum);
        if let Ok(mut reader) = Reader::open(&damaged[..]) {
            read_from(&mut reader);
        }
    }
}
