//! How an agent is spoken to that was loaded into a process that runs.
//!
//! Nobody tells such a process of a recorder by its environment, and it may be where no socket of the recorder's can be
//! reached. So the recorder writes what the agent has to know into a [`Table`] of the library's, which both know by its
//! symbol, has the library's function [`JOIN`] called, and reads the answer there.
//!
//! What the agent must not do itself is to write over functions that other threads run: it makes ready all that they are
//! to lead to, and tells which bytes are to be written where ([`Jump`]). The recorder does that while all threads stand
//! still. The table keeps the bytes that were there, so that anybody who may write to the process can put them back,
//! whatever has become of the recorder.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::patch::{JUMP, MOST_PATCHES};
use crate::segment::PROTOCOL_VERSION;

/// Name of the library's [`Table`].
pub const TABLE: &str = "lifetrace_attach_table";

/// Name of the library's function that begins a session; it has no arguments.
pub const JOIN: &str = "lifetrace_join";

/// Longest address of a recorder, in bytes.
pub const PATH_ROOM: usize = 8 * PATH_WORDS;

/// How many gaps an answer has.
pub const GAPS: usize = 256;

const PATH_WORDS: usize = 16;
const MARK: u64 = 0x4c54_4154;

const KIND: usize = 0;
const DESCRIPTOR: usize = 1;
const BYTES: usize = 2;
const PATH_LENGTH: usize = 3;
const PATH: usize = 4;
const OUTCOME: usize = PATH + PATH_WORDS;
const COUNTDOWN: usize = OUTCOME + 1;
const COUNT: usize = COUNTDOWN + 1;
const JUMPS: usize = COUNT + 1;
const JUMP_WORDS: usize = 3;
const FIRST_GAP: usize = JUMPS + JUMP_WORDS * MOST_PATCHES;
const WORDS: usize = FIRST_GAP + GAPS;

/// Length of a table, in bytes.
pub const LEN: usize = 8 * WORDS;

/// How the library has come into the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// With the program, at its start: it hears malloc by its name.
    Preloaded = 1,
    /// A recorder has loaded it: it does nothing until it is told to.
    Attached = 2,
}

/// What has become of a [`JOIN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Outcome {
    /// It has not ended.
    Pending = 0,
    /// The session has begun; only jumps are missing.
    Joined = 1,
    /// Another recorder has the process.
    Recorded = 2,
    /// No memory for the session.
    NoMemory = 3,
    /// The allocator's code is not what the recorder has seen, or there is no room near it.
    Unpatched = 4,
    /// The C library is not the GNU one.
    Foreign = 5,
}

const OUTCOMES: [Outcome; 6] = [
    Outcome::Pending,
    Outcome::Joined,
    Outcome::Recorded,
    Outcome::NoMemory,
    Outcome::Unpatched,
    Outcome::Foreign,
];

/// The first bytes of a function, before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jump {
    /// Where they are.
    pub address: u64,
    /// What was there first.
    pub original: [u8; JUMP],
    /// The jump to the agent.
    pub jump: [u8; JUMP],
}

/// What a recorder and the agent in a process tell each other.
#[derive(Debug)]
#[repr(C)]
pub struct Table([AtomicU64; WORDS]);

/// The beginning of a library's table as it is in the file, for this arrival.
pub const fn first_word(arrival: Arrival) -> u64 {
    MARK << 32 | (arrival as u64) << 24 | PROTOCOL_VERSION as u64
}

/// What a recorder asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The segment's memory, open in the process.
    pub descriptor: u32,
    /// Length of the segment.
    pub bytes: u64,
    /// Where forked children find the recorder.
    pub path: &'a [u8],
    /// The recorder of a session that has not ended is gone: this one takes its place.
    pub replaces: bool,
    /// The process filters its system calls, and may be ended for one that it does not expect.
    pub is_filtered: bool,
}

const REPLACES: u64 = 1 << 32;
const IS_FILTERED: u64 = 1 << 33;

impl Request<'_> {
    /// Where in the table these bytes are to be written, and what; `None` if the path is too long.
    pub fn to_bytes(&self) -> Option<(u64, [u8; 8 * (COUNTDOWN - DESCRIPTOR)])> {
        let mut bytes = [0; 8 * (COUNTDOWN - DESCRIPTOR)];
        let flag = |flag, is_set| if is_set { flag } else { 0 };
        let flags = flag(REPLACES, self.replaces) | flag(IS_FILTERED, self.is_filtered);
        let words = [u64::from(self.descriptor) | flags, self.bytes, self.path.len() as u64];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let path = bytes.get_mut(8 * (PATH - DESCRIPTOR)..8 * (OUTCOME - DESCRIPTOR))?;
        path.get_mut(..self.path.len())?.copy_from_slice(self.path);
        Some((8 * DESCRIPTOR as u64, bytes))
    }
}

impl Table {
    /// As it is in the library's file.
    pub const fn new() -> Table {
        let mut words = [const { AtomicU64::new(0) }; WORDS];
        words[KIND] = AtomicU64::new(first_word(Arrival::Preloaded));
        Table(words)
    }

    fn get(&self, index: usize) -> u64 {
        self.0.get(index).map_or(0, |word| word.load(Ordering::Acquire))
    }

    fn set(&self, index: usize, value: u64) {
        if let Some(word) = self.0.get(index) {
            word.store(value, Ordering::Release);
        }
    }

    /// The agent's: how it has come.
    pub fn arrival(&self) -> Arrival {
        arrival(self.get(KIND)).unwrap_or(Arrival::Preloaded)
    }

    /// The agent's: what is asked for; `path` is room for the address in it.
    pub fn request<'p>(&self, path: &'p mut [u8; PATH_ROOM]) -> Request<'p> {
        for (index, place) in path.chunks_exact_mut(8).enumerate() {
            place.copy_from_slice(&self.get(PATH + index).to_le_bytes());
        }
        let length = self.get(PATH_LENGTH).min(PATH_ROOM as u64) as usize;
        let descriptor = self.get(DESCRIPTOR);
        Request {
            descriptor: descriptor as u32,
            bytes: self.get(BYTES),
            path: &path[..length],
            replaces: descriptor & REPLACES != 0,
            is_filtered: descriptor & IS_FILTERED != 0,
        }
    }

    /// The agent's: how far from a thread's pointer its countdown is, and gaps for threads that have one of an earlier
    /// session.
    pub fn tell_countdowns(&self, distance: i64, gap: impl FnMut() -> i64) {
        self.set(COUNTDOWN, distance as u64);
        let gaps = core::iter::repeat_with(gap).take(GAPS);
        gaps.enumerate().for_each(|(index, gap)| self.set(FIRST_GAP + index, gap as u64));
    }

    /// The agent's: what is to be written, in place of what was told before.
    pub fn tell_jumps(&self, jumps: impl Iterator<Item = Jump>) {
        let mut count = 0;
        for (jump, at) in jumps.take(MOST_PATCHES).zip((JUMPS..).step_by(JUMP_WORDS)) {
            let words = [jump.address, word(jump.original), word(jump.jump)];
            words.into_iter().enumerate().for_each(|(index, word)| self.set(at + index, word));
            count += 1;
        }
        self.set(COUNT, count);
    }

    /// The agent's: what has become of it.
    pub fn conclude(&self, outcome: Outcome) {
        self.set(OUTCOME, outcome as u64);
    }
}

impl Default for Table {
    fn default() -> Self {
        Table::new()
    }
}

/// The recorder's copy of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told<'a>(&'a [u8; LEN]);

impl<'a> Told<'a> {
    /// `None` if it is no table of this version.
    pub fn of(bytes: &'a [u8; LEN]) -> Option<Told<'a>> {
        let told = Told(bytes);
        arrival(told.get(KIND)).map(|_| told)
    }

    fn get(&self, index: usize) -> u64 {
        let word = self.0.get(8 * index..8 * index + 8).and_then(|word| word.try_into().ok());
        word.map_or(0, u64::from_le_bytes)
    }

    /// How the library has come.
    pub fn arrival(&self) -> Arrival {
        arrival(self.get(KIND)).unwrap_or(Arrival::Preloaded)
    }

    /// What has become of the last request.
    pub fn outcome(&self) -> Outcome {
        OUTCOMES.get(self.get(OUTCOME) as usize).copied().unwrap_or(Outcome::Pending)
    }

    /// Where the last recorder listens; empty before there was one.
    pub fn path(&self) -> &'a [u8] {
        let path = &self.0[8 * PATH..8 * OUTCOME];
        path.get(..self.get(PATH_LENGTH) as usize).unwrap_or_default()
    }

    /// How far from a thread's pointer its countdown is, and behind that its state.
    pub fn countdown(&self) -> i64 {
        self.get(COUNTDOWN) as i64
    }

    /// A gap for the thread with this number.
    pub fn gap(&self, thread: usize) -> i64 {
        self.get(FIRST_GAP + thread % GAPS) as i64
    }

    /// What is to be written where.
    pub fn jumps(&self) -> impl Iterator<Item = Jump> + '_ {
        let count = (self.get(COUNT) as usize).min(MOST_PATCHES);
        (JUMPS..).step_by(JUMP_WORDS).take(count).map(|at| Jump {
            address: self.get(at),
            original: bytes(self.get(at + 1)),
            jump: bytes(self.get(at + 2)),
        })
    }
}

fn arrival(word: u64) -> Option<Arrival> {
    [Arrival::Preloaded, Arrival::Attached].into_iter().find(|&it| first_word(it) == word)
}

fn word([a, b, c, d, e]: [u8; JUMP]) -> u64 {
    u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
}

fn bytes(word: u64) -> [u8; JUMP] {
    let [a, b, c, d, e, ..] = word.to_le_bytes();
    [a, b, c, d, e]
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    /// As a recorder copies it out of the process.
    fn copy(table: &Table) -> [u8; LEN] {
        let mut copied = [0; LEN];
        for (place, word) in copied.chunks_exact_mut(8).zip(&table.0) {
            place.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        copied
    }

    fn write(table: &Table, at: u64, bytes: &[u8]) {
        for (word, place) in bytes.chunks_exact(8).zip(&table.0[at as usize / 8..]) {
            place.store(u64::from_le_bytes(word.try_into().unwrap()), Ordering::Relaxed);
        }
    }

    #[test]
    fn what_is_asked_arrives() {
        let table = Table::new();
        assert_eq!(Told::of(&copy(&table)).unwrap().path(), b"");
        let path = b"/tmp/lifetrace-1/socket";
        let request =
            Request { descriptor: 7, bytes: 1 << 20, path, replaces: true, is_filtered: false };
        let (at, bytes) = request.to_bytes().unwrap();
        write(&table, at, &bytes);
        assert_eq!(table.request(&mut [0; PATH_ROOM]), request);
        assert_eq!(Told::of(&copy(&table)).unwrap().path(), path);
        let path = &[b'x'; PATH_ROOM + 1];
        assert_eq!(Request { path, ..request }.to_bytes(), None);
    }

    #[test]
    fn what_is_told_arrives() {
        let table = Table::new();
        let jump = |at| Jump { address: at, original: [1, 2, 3, 4, 5], jump: [0xe9, 9, 8, 7, 6] };
        table.tell_jumps([jump(3), jump(4)].into_iter());
        let mut gap = 0;
        table.tell_countdowns(-64, || {
            gap += 1;
            gap
        });
        table.conclude(Outcome::Joined);
        let copied = copy(&table);
        let told = Told::of(&copied).unwrap();
        assert_eq!(told.jumps().collect::<Vec<_>>(), [jump(3), jump(4)]);
        assert_eq!((told.countdown(), told.outcome()), (-64, Outcome::Joined));
        assert_eq!((told.gap(0), told.gap(GAPS + 1)), (1, 2));
    }

    #[test]
    fn other_tables_are_none() {
        let mut bytes = copy(&Table::new());
        assert_eq!(Told::of(&bytes).unwrap().arrival(), Arrival::Preloaded);
        bytes[..8].copy_from_slice(&first_word(Arrival::Attached).to_le_bytes());
        assert_eq!(Told::of(&bytes).unwrap().arrival(), Arrival::Attached);
        bytes[0] ^= 1;
        assert_eq!(Told::of(&bytes), None);
    }
}
