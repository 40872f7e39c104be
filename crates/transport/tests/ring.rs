//! The ring: alone, at its edges, damaged, and between two threads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use lifetrace_transport::ring::{Damaged, Full, Ring, RingHeader, Tail};
use proptest::prelude::*;

const CAPACITY: usize = 256;

/// A header, and the data behind it as one block of aligned memory.
#[derive(Default)]
struct Memory {
    header: RingHeader,
    data: Vec<u64>,
}

impl Memory {
    fn new(capacity: usize) -> Memory {
        Memory { header: RingHeader::default(), data: vec![0; capacity / 8] }
    }

    fn ring(&mut self) -> Ring<'_> {
        let (data, capacity) = (self.data.as_mut_ptr().cast(), self.data.len() * 8);
        // SAFETY: the vector is aligned, `capacity` long, and borrowed exclusively by the ring.
        unsafe { Ring::new(&self.header, data, capacity) }
    }

    /// One of the header's two positions: they begin its two halves.
    fn position(&self, half: usize) -> &AtomicU64 {
        let halves: *const RingHeader = &self.header;
        // SAFETY: the header is two cache lines, each beginning with an atomic word.
        unsafe { &*halves.cast::<AtomicU64>().add(half * size_of::<RingHeader>() / 16) }
    }
}

fn push(ring: &Ring<'_>, head: &[u8], tail: &[u64]) -> Result<(), Full> {
    // SAFETY: each test has one producer at a time.
    unsafe { ring.push(head, Tail::Words(tail)) }
}

fn pop(ring: &Ring<'_>) -> Result<Option<Vec<u8>>, Damaged> {
    let mut buffer = [0; CAPACITY];
    // SAFETY: each test has one consumer at a time.
    unsafe { ring.pop(&mut buffer) }.map(|record| record.map(<[u8]>::to_vec))
}

#[test]
fn records_come_out_as_they_went_in() {
    let mut memory = Memory::new(CAPACITY);
    let ring = memory.ring();
    assert_eq!(pop(&ring), Ok(None));
    push(&ring, b"odd", &[]).unwrap();
    push(&ring, &[], &[]).unwrap();
    push(&ring, b"12345678", &[u64::MAX]).unwrap();
    assert_eq!(ring.used(), 16 + 8 + 24);
    // SAFETY: there is one producer.
    unsafe { ring.push(b"12345678", Tail::Halves(&[0x0101_0101; 3])) }.unwrap();
    assert_eq!(ring.used(), 16 + 8 + 24 + 32);
    assert_eq!(pop(&ring), Ok(Some(b"odd".to_vec())));
    assert_eq!(pop(&ring), Ok(Some(vec![])));
    assert_eq!(pop(&ring), Ok(Some([&b"12345678"[..], &[0xff; 8]].concat())));
    assert_eq!(pop(&ring), Ok(Some([&b"12345678"[..], &[1; 12]].concat())));
    assert_eq!((pop(&ring), ring.used(), ring.tail()), (Ok(None), 0, 80));
}

#[test]
fn a_full_ring_refuses_and_loses_nothing() {
    let mut memory = Memory::new(CAPACITY);
    let ring = memory.ring();
    push(&ring, &[7; CAPACITY - 8], &[]).unwrap();
    assert_eq!(push(&ring, &[], &[]), Err(Full));
    assert_eq!(pop(&ring), Ok(Some(vec![7; CAPACITY - 8])));
    push(&ring, &[], &[]).unwrap();
    assert_eq!(push(&ring, &[0; CAPACITY - 7], &[]), Err(Full));
}

#[test]
fn a_record_longer_than_the_consumers_buffer_is_damage() {
    let mut memory = Memory::new(CAPACITY);
    let ring = memory.ring();
    push(&ring, &[1; 24], &[]).unwrap();
    let mut buffer = [0; 16];
    // SAFETY: there is one consumer.
    assert_eq!(unsafe { ring.pop(&mut buffer) }, Err(Damaged));
}

#[test]
fn impossible_positions_and_lengths_are_damage() {
    let check = |scribble: &dyn Fn(&mut Memory)| {
        let mut memory = Memory::new(CAPACITY);
        push(&memory.ring(), &[1; 24], &[]).unwrap();
        scribble(&mut memory);
        assert_eq!(pop(&memory.ring()), Err(Damaged));
        assert_eq!(pop(&memory.ring()), Err(Damaged));
    };
    check(&|memory| memory.position(0).store(u64::MAX, Ordering::Relaxed));
    check(&|memory| memory.position(0).store(CAPACITY as u64 + 8, Ordering::Relaxed));
    check(&|memory| memory.position(0).store(7, Ordering::Relaxed));
    check(&|memory| memory.position(1).store(1, Ordering::Relaxed));
    check(&|memory| memory.position(1).store(64, Ordering::Relaxed));
    check(&|memory| memory.data[0] = 25);
    check(&|memory| memory.data[0] = u64::MAX);
    check(&|memory| memory.data[0] = u64::MAX - 7);
}

#[test]
fn a_producer_finds_no_room_in_a_damaged_ring() {
    let mut memory = Memory::new(CAPACITY);
    memory.position(1).store(8, Ordering::Relaxed);
    assert_eq!(push(&memory.ring(), &[], &[]), Err(Full));
}

/// A record to push, by the lengths of its two parts; or a pop.
fn steps() -> impl Strategy<Value = Vec<Option<(usize, usize)>>> {
    prop::collection::vec(prop::option::of((0usize..60, 0usize..5)), 1..400)
}

fn words() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), CAPACITY / 8)
}

/// The room that a record takes.
fn room_of(payload: usize) -> usize {
    8 + payload.next_multiple_of(8)
}

proptest! {
    /// The naive twin is a queue of records, with the room that each takes.
    #[test]
    fn the_naive_twin_agrees(steps in steps()) {
        let mut memory = Memory::new(CAPACITY);
        let ring = memory.ring();
        let (mut twin, mut room, mut next) = (VecDeque::<Vec<u8>>::new(), CAPACITY, 0u8);
        for step in steps {
            match step {
                Some((head, tail)) => {
                    next = next.wrapping_add(1);
                    let (head, tail) = (vec![next; head], vec![u64::from(next); tail]);
                    let record = [head.clone(), tail.iter().flat_map(|w| w.to_ne_bytes()).collect()];
                    let record = record.concat();
                    let fits = room_of(record.len()) <= room;
                    let expected = if fits { Ok(()) } else { Err(Full) };
                    prop_assert_eq!(push(&ring, &head, &tail), expected);
                    if fits {
                        room -= room_of(record.len());
                        twin.push_back(record);
                    }
                }
                None => {
                    let expected = twin.pop_front();
                    room += expected.as_ref().map_or(0, |record| room_of(record.len()));
                    prop_assert_eq!(pop(&ring), Ok(expected));
                }
            }
            prop_assert_eq!(ring.used() as usize, CAPACITY - room);
        }
    }

    #[test]
    fn foreign_memory_does_not_panic(words in words(), head: u64, tail: u64) {
        let mut memory = Memory::new(CAPACITY);
        memory.data = words;
        memory.position(0).store(head, Ordering::Relaxed);
        memory.position(1).store(tail, Ordering::Relaxed);
        while let Ok(Some(record)) = pop(&memory.ring()) {
            prop_assert!(record.len() <= CAPACITY - 8);
        }
    }
}

#[test]
fn two_threads_agree_on_every_record() {
    const COUNT: u64 = if cfg!(miri) { 200 } else { 100_000 };
    let mut memory = Memory::new(CAPACITY);
    let ring = memory.ring();
    let contents = |number: u64| vec![number; 1 + number as usize % 7];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..COUNT {
                while push(&ring, &[], &contents(number)).is_err() {
                    std::thread::yield_now();
                }
            }
        });
        for number in 0..COUNT {
            let record = loop {
                match pop(&ring).unwrap() {
                    Some(record) => break record,
                    None => std::thread::yield_now(),
                }
            };
            let expected: Vec<u8> = contents(number).iter().flat_map(|w| w.to_ne_bytes()).collect();
            assert_eq!(record, expected);
        }
    });
    assert_eq!(pop(&ring), Ok(None));
}
