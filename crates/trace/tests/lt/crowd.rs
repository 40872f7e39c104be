//! A trace with more blocks between two checkpoints than the table of living blocks has room for,
//! made by a fixed rule: also a golden file.
//!
//! In the first part most of them live, so the oldest are forgotten and die by their ids; in the second
//! most are dead, and are squeezed out.

use lifetrace_trace::event::Source;
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{AllocationId, Bytes, LocationCode, SamplerId, Size, Timestamp};
use lifetrace_trace::lt::{NewBirth, Writer};

use crate::support::{START, info};

const BIRTHS: u64 = 70_000;

type Trace = Writer<Vec<u8>>;

pub fn trace() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &info()).unwrap();
    let time = |number: u64| Timestamp(START.0 + number * 20);
    for number in 0..BIRTHS {
        birth(&mut writer, time(number), number);
        if number % 8 == 7 {
            writer.collection(time(number), AllocationId(number - 5)).unwrap();
        }
    }
    for id in (0..2000).filter(|id| id % 8 != 2) {
        writer.collection(time(BIRTHS + id), AllocationId(id)).unwrap();
    }
    writer.checkpoint().unwrap();
    for number in 0..BIRTHS {
        let (now, number) = (time(2 * BIRTHS + number), BIRTHS + number);
        birth(&mut writer, now, number);
        writer.collection(now, AllocationId(number - number % 3)).unwrap();
    }
    writer.finish().unwrap()
}

fn birth(writer: &mut Trace, time: Timestamp, number: u64) {
    let birth = NewBirth {
        size: Size::Bytes(Bytes(24 + number % 2 * 8)),
        samples: 1,
        source: Source::External,
        sampler: SamplerId(0),
        is_truncated: false,
        backtrace: &[1, 2 + number % 3].map(LocationCode),
        common_prefix: 0,
        id: None,
    };
    assert_eq!(writer.birth(time, &birth, &mut |_| Frame::default()).unwrap().0, number);
}
