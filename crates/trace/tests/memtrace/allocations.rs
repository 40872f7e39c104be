//! What events say of blocks: sizes, sources, ids, domains.

use lifetrace_trace::event::Source;
use lifetrace_trace::ids::{DomainId, LocationCode, Timestamp, Words};
use lifetrace_trace::memtrace::{NewAllocation, Writer};

use crate::support::{
    Owned, START, allocation, at, codes, id, nowhere, packet_starts, read_whole, writer,
};

#[test]
fn seven_events_over_103_seconds() {
    let mut writer = writer();
    let new = |length, source, backtrace| NewAllocation {
        length: Words(length),
        source,
        ..allocation(backtrace)
    };
    let (first, second, third) = (codes(&[1, 2, 3]), codes(&[1, 2, 4]), codes(&[1, 2, 4, 5]));
    let none = &mut nowhere;
    let seconds = |seconds: u64| at(seconds * 1_000_000);
    let a = writer.allocation(seconds(1), &new(10, Source::Minor, &first), none).unwrap();
    let b = writer.allocation(seconds(2), &new(0x8123_4567, Source::Major, &second), none).unwrap();
    writer.promotion(seconds(3), a).unwrap();
    let c = writer.allocation(seconds(102), &new(3, Source::External, &third), none).unwrap();
    writer.collection(seconds(102), b).unwrap();
    writer.collection(seconds(103), a).unwrap();
    writer.collection(seconds(103), c).unwrap();
    let trace = writer.finish().unwrap();

    let born = |id, length, source, backtrace: &[LocationCode]| Owned::Allocation {
        id,
        length,
        samples: 1,
        source,
        domain: 0,
        backtrace: backtrace.to_vec(),
    };
    let expected = vec![
        (seconds(1), born(0, 10, Source::Minor, &first)),
        (seconds(2), born(1, 0x8123_4567, Source::Major, &second)),
        (seconds(3), Owned::Promotion(0)),
        (seconds(102), born(2, 3, Source::External, &third)),
        (seconds(102), Owned::Collection(1)),
        (seconds(103), Owned::Collection(0)),
        (seconds(103), Owned::Collection(2)),
    ];
    assert_eq!(read_whole(&trace), expected);
    // Info, and on both sides of the gap the frames' packet and the events'.
    assert_eq!(packet_starts(&trace).len(), 5);
}

#[test]
fn lengths_and_samples_of_all_sizes() {
    let sizes = [0, 1, 16, 17, 252, 253, 0xffff, 0x1_0000, 0x7fff_ffff, 0x8123_4567, 1 << 61];
    for source in [Source::Minor, Source::Major, Source::External] {
        let mut writer = writer();
        for length in sizes {
            for samples in sizes {
                let length = Words(length);
                let new = NewAllocation { length, samples, source, ..allocation(&[]) };
                writer.allocation(START, &new, &mut nowhere).unwrap();
            }
        }
        let events = read_whole(&writer.finish().unwrap());
        let expected = sizes.iter().flat_map(|length| sizes.map(|samples| (*length, samples)));
        for ((_, event), expected) in events.iter().zip(expected) {
            let Owned::Allocation { length, samples, source: found, .. } = event else {
                panic!("{event:?}")
            };
            assert_eq!(((*length, *samples), *found), (expected, source));
        }
        assert_eq!(events.len(), sizes.len() * sizes.len());
    }
}

#[test]
fn sizes_that_do_not_fit_become_the_largest() {
    let mut writer = writer();
    let new = NewAllocation { length: Words(u64::MAX), samples: u64::MAX, ..allocation(&[]) };
    writer.allocation(START, &new, &mut nowhere).unwrap();
    let events = read_whole(&writer.finish().unwrap());
    let Owned::Allocation { length, samples, .. } = events[0].1 else { panic!() };
    assert_eq!((length, samples), (i64::MAX as u64, i64::MAX as u64));
}

#[test]
fn ids_are_drawn_ten_thousand_at_a_time() {
    let mut writer = writer();
    for expected in 0..25_000 {
        let found = writer.allocation(START, &allocation(&[]), &mut nowhere).unwrap();
        assert_eq!(found, id(expected));
    }
    let events = read_whole(&writer.finish().unwrap());
    let ids = events.iter().map(|(_, event)| match event {
        Owned::Allocation { id, .. } => *id,
        other => panic!("{other:?}"),
    });
    assert!(ids.eq(0..25_000));
}

#[test]
fn domains_draw_ids_in_turn_and_may_free_each_others_blocks() {
    let mut writer = writer();
    let stacks = [codes(&[1, 2, 3]), codes(&[1, 2, 4])];
    let allocate = |writer: &mut Writer<_>, domain, time| {
        writer.switch_domain(DomainId(domain));
        let new = allocation(&stacks[usize::from(domain)]);
        writer.allocation(at(time), &new, &mut nowhere).unwrap()
    };
    let ids = [(0, 1), (1, 2), (0, 3)].map(|(domain, time)| allocate(&mut writer, domain, time));
    assert_eq!(ids, [id(0), id(10_000), id(1)]);
    writer.collection(at(4), ids[1]).unwrap();
    writer.switch_domain(DomainId(1));
    writer.collection(at(4), ids[0]).unwrap();
    let events = read_whole(&writer.finish().unwrap());
    let collected: Vec<_> =
        events.iter().filter(|(_, event)| matches!(event, Owned::Collection(_))).collect();
    // One packet per domain: the first domain's comes first, and names a block not seen yet.
    assert_eq!(collected, [&(at(4), Owned::Collection(10_000)), &(at(4), Owned::Collection(0))]);
    assert_eq!(times_of(&events, 1), [2]);
    assert_eq!(times_of(&events, 0), [1, 3]);
}

fn times_of(events: &[(Timestamp, Owned)], of: u16) -> Vec<u64> {
    let is_of = |event: &Owned| matches!(event, Owned::Allocation { domain, .. } if *domain == of);
    events.iter().filter(|(_, event)| is_of(event)).map(|(time, _)| time.0 - START.0).collect()
}

#[test]
fn ids_above_all_ids_are_refused() {
    let mut writer = writer();
    let kind = |outcome: std::io::Result<()>| outcome.unwrap_err().kind();
    let refused = std::io::ErrorKind::InvalidInput;
    assert_eq!(kind(writer.collection(START, id(1 << 62))), refused);
    assert_eq!(kind(writer.promotion(START, id(u64::MAX))), refused);
    let new = NewAllocation { id: Some(id(u64::MAX)), ..allocation(&[]) };
    assert_eq!(kind(writer.allocation(START, &new, &mut nowhere).map(|_| ())), refused);
    let last = NewAllocation { id: Some(id((1 << 62) - 1)), ..allocation(&[]) };
    writer.allocation(START, &last, &mut nowhere).unwrap();
    writer.collection(START, id((1 << 62) - 1)).unwrap();
    writer.collection(START, id(0)).unwrap();
    assert_eq!(read_whole(&writer.finish().unwrap()).len(), 3);
}
