//! Every order in which the ring's two sides can run, tried by a model checker: `cargo xtask loom`.
//!
//! The checker also tries what the memory model allows and this machine's processor does not do, and
//! fails if both sides use a byte at the same time. Records are of 24 bytes in a ring of 32: the
//! second wraps in its middle, and none fits behind another.
#![cfg(loom)]

use lifetrace_transport::memory::Cell;
use lifetrace_transport::ring::{Damaged, Full, Ring, RingHeader, Tail};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

const CAPACITY: usize = 32;

struct Memory {
    header: RingHeader,
    data: Vec<Cell>,
}

impl Memory {
    fn new() -> Arc<Memory> {
        let data = (0..CAPACITY / 8).map(|_| Cell::new([0; 8])).collect();
        Arc::new(Memory { header: RingHeader::default(), data })
    }

    fn ring(&self) -> Ring<'_> {
        // SAFETY: the cells are the checker's form of so many bytes, and used by nobody else.
        unsafe { Ring::new(&self.header, self.data.as_ptr().cast_mut().cast(), CAPACITY) }
    }

    /// Where the producers are: the header's first word.
    fn head(&self) -> &AtomicU64 {
        let header: *const RingHeader = &self.header;
        // SAFETY: the header begins with it.
        unsafe { &*header.cast() }
    }

    /// What a record's two words say: its number twice.
    fn push(&self, number: u64) -> Result<(), Full> {
        // SAFETY: each model has one producer at a time.
        unsafe { self.ring().push(&number.to_ne_bytes(), Tail::Words(&[number])) }
    }

    /// A record's number.
    fn pop(&self) -> Result<Option<u64>, Damaged> {
        let mut buffer = [0; CAPACITY];
        // SAFETY: each model has one consumer at a time.
        let Some(record) = unsafe { self.ring().pop(&mut buffer) }? else { return Ok(None) };
        let word = |at: usize| u64::from_ne_bytes(record[at..at + 8].try_into().unwrap());
        assert_eq!((record.len(), word(0)), (16, word(8)), "a record is whole");
        Ok(Some(word(0)))
    }
}

/// Waits for room, and for records: all arrive, whole and in order, around the end and back.
#[test]
fn a_waiting_producer_loses_nothing() {
    loom::model(|| {
        let memory = Memory::new();
        let consumer = Arc::clone(&memory);
        let consumer = thread::spawn(move || {
            for expected in 1..=3 {
                let number = loop {
                    match consumer.pop().unwrap() {
                        Some(number) => break number,
                        None => thread::yield_now(),
                    }
                };
                assert_eq!(number, expected);
            }
            assert_eq!(consumer.pop(), Ok(None));
        });
        for number in 1..=3 {
            while memory.push(number).is_err() {
                thread::yield_now();
            }
        }
        consumer.join().unwrap();
    });
}

/// What is refused is not in the ring, and all else is.
#[test]
fn an_impatient_producer_knows_what_is_lost() {
    loom::model(|| {
        let memory = Memory::new();
        let producer = Arc::clone(&memory);
        let producer = thread::spawn(move || {
            (1..=3).filter(|&number| producer.push(number).is_ok()).collect::<Vec<u64>>()
        });
        let mut heard: Vec<u64> = (0..3).filter_map(|_| memory.pop().unwrap()).collect();
        let said = producer.join().unwrap();
        heard.extend(std::iter::from_fn(|| memory.pop().unwrap()));
        assert_eq!(heard, said);
        assert!(said.starts_with(&[1]));
    });
}

/// The threads of a target take turns, as the agent's lock has them do.
#[test]
fn two_producers_take_turns() {
    loom::model(|| {
        let (memory, lock) = (Memory::new(), Arc::new(Mutex::new(())));
        let (other, others_lock) = (Arc::clone(&memory), Arc::clone(&lock));
        let other = thread::spawn(move || {
            let _held = others_lock.lock().unwrap();
            other.push(1).is_ok()
        });
        let consumer = Arc::clone(&memory);
        let consumer = thread::spawn(move || consumer.pop().unwrap());
        let own = {
            let _held = lock.lock().unwrap();
            memory.push(2).is_ok()
        };
        let other = other.join().unwrap();
        let mut heard: Vec<u64> = consumer.join().unwrap().into_iter().collect();
        heard.extend(std::iter::from_fn(|| memory.pop().unwrap()));
        heard.sort_unstable();
        let said: Vec<u64> =
            [(other, 1), (own, 2)].into_iter().filter(|it| it.0).map(|it| it.1).collect();
        assert_eq!(heard, said);
    });
}

/// A target that has gone mad publishes a length that cannot be: the consumer takes nothing for it.
#[test]
fn a_damaged_length_is_never_a_record() {
    for length in [25, u64::MAX, u64::MAX - 7] {
        loom::model(move || {
            let memory = Memory::new();
            let producer = Arc::clone(&memory);
            let producer = thread::spawn(move || {
                // SAFETY: nothing is published yet, so the cell is this thread's.
                producer.data[0].with_mut(|bytes| unsafe { *bytes = length.to_ne_bytes() });
                producer.head().store(24, Ordering::Release);
            });
            let seen = memory.pop();
            assert!(matches!(seen, Ok(None) | Err(Damaged)), "{seen:?}");
            producer.join().unwrap();
            assert_eq!((memory.pop(), memory.pop()), (Err(Damaged), Err(Damaged)));
        });
    }
}

/// Positions that cannot be, while the consumer looks.
#[test]
fn a_damaged_position_is_never_a_record() {
    for head in [1, CAPACITY as u64 + 8, u64::MAX] {
        loom::model(move || {
            let memory = Memory::new();
            let scribbler = Arc::clone(&memory);
            let scribbler = thread::spawn(move || scribbler.head().store(head, Ordering::Relaxed));
            let seen = memory.pop();
            assert!(matches!(seen, Ok(None) | Err(Damaged)), "{seen:?}");
            scribbler.join().unwrap();
            assert_eq!(memory.pop(), Err(Damaged));
        });
    }
}
