//! The handshake's words, and the layout of a segment.

use std::collections::HashSet;

use lifetrace_transport::handshake::{Hello, LEN, Late, Origin, Unheard, Welcome, token};
use lifetrace_transport::ring::RingHeader;
use lifetrace_transport::segment::{
    LostReason, SegmentHeader, Settings, Sources, ring_offsets, segment_bytes,
};
use lifetrace_transport::sources::{Source, SourceName, Unit};

fn settings(ring_count: u32, ring_bytes: u32) -> Settings {
    Settings {
        ring_count,
        ring_bytes,
        seed: 1,
        follow_children: 1,
        recorder_pid: 2,
        sources: Sources::NONE.with(Source::malloc(0.5)),
        stack_limit: 100,
        patches: 0,
        looks_for_lost: 0,
        is_standing: 0,
    }
}

#[test]
fn the_words_of_the_handshake() {
    let late = [(0, false), (7, false), (7, true)].map(|(millis, can_begin_managed)| {
        Origin::Late(Late { unheard: Unheard(millis), can_begin_managed })
    });
    for origin in [Origin::Exec, Origin::Fork].into_iter().chain(late) {
        let hello = Hello::Session(origin);
        assert_eq!(Hello::from_bytes(&hello.to_bytes()), Some(hello));
    }
    for hello in [
        Hello::Request,
        Hello::Leaving,
        Hello::Snapshot(token(0)),
        Hello::Snapshot(token(u64::MAX)),
    ] {
        assert_eq!(Hello::from_bytes(&hello.to_bytes()), Some(hello));
    }
    for segment_bytes in [0, 1 << 20, u64::MAX] {
        let welcome = Welcome { segment_bytes };
        assert_eq!(Welcome::from_bytes(&welcome.to_bytes()), Some(welcome));
    }
}

#[test]
fn other_words_are_not_understood() {
    let hello = Hello::Session(Origin::Fork).to_bytes();
    for length in 0..LEN {
        assert_eq!(Hello::from_bytes(&hello[..length]), None);
    }
    assert_eq!(Hello::from_bytes(&[&hello[..], &[0]].concat()), None);
    for index in 0..LEN {
        let mut bytes = hello;
        bytes[index] ^= 0x80;
        assert_eq!(Hello::from_bytes(&bytes), None, "byte {index}");
    }
}

#[test]
fn rings_lie_in_the_segment_side_by_side() {
    for settings in [settings(1, 4096), settings(4, 256 << 10), settings(16, 4 << 20)] {
        let mut end = size_of::<SegmentHeader>();
        for index in 0..settings.ring_count as usize {
            let (header, data) = ring_offsets(&settings, index);
            assert!(header >= end, "ring {index} overlaps what is before it");
            assert_eq!((header % align_of::<RingHeader>(), data % 8), (0, 0));
            assert!(data >= header + size_of::<RingHeader>());
            end = data + settings.ring_bytes as usize;
        }
        assert!(end <= segment_bytes(&settings));
    }
}

#[test]
fn losses_are_counted_by_reason() {
    let header = SegmentHeader::new(settings(1, 4096));
    header.count_lost(LostReason::RingFull);
    header.count_lost(LostReason::NoThreadRecord);
    header.count_lost(LostReason::NoThreadRecord);
    let counts = LostReason::ALL.map(|reason| header.lost(reason));
    assert_eq!(counts, [1, 0, 0, 0, 2, 0, 0, 0]);
    let descriptions: HashSet<_> = LostReason::ALL.map(LostReason::description).into();
    assert_eq!(descriptions.len(), LostReason::ALL.len());
}

#[test]
fn signs_of_life_and_the_end() {
    let header = SegmentHeader::new(settings(1, 4096));
    let before = header.heartbeat();
    header.beat();
    assert!(header.heartbeat() > before && !header.stopped());
    header.stop();
    assert!(header.stopped());
}

#[test]
fn only_rate_one_is_exact() {
    let malloc = |rate| Sources::NONE.with(Source::malloc(rate));
    let managed = |rate| Source { name: SourceName::new("ruby"), unit: Unit::OBJECT, rate };
    let is_exact = |sources| Settings { sources, ..settings(1, 4096) }.exact();
    assert!(is_exact(malloc(1.0)));
    assert!(!is_exact(malloc(1.0 - 1e-12)));
    assert!(is_exact(malloc(0.5).with(managed(1.0))));
    assert!(is_exact(malloc(1.0).with(managed(0.5))));
    assert!(!is_exact(Sources::NONE.with(managed(0.25))));
    assert!(!is_exact(Sources::NONE));
}
