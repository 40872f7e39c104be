//! A byte ring in shared memory: one producer at a time, one consumer. \[UNSAFE\]
//!
//! ```text
//!            tail                      head
//!   ──────────┼─────────────────────────┼──────────   positions only grow; index = position % capacity
//!     free    │ len:8 payload  pad to 8 │   free
//! ```
//!
//! `head` is written by producers only, after the record's last byte (release); `tail` by the
//! consumer only, after it has copied the record out (release). A record that would not fit is
//! refused: what to do then (wait, or count a loss) is the caller's policy. A producer that dies in
//! the middle of a record leaves `head` where it was, and so no trace of it.
//!
//! The consumer trusts nothing that it reads: the target may scribble over the segment. A length
//! that cannot be is [`Damaged`], and the ring is not read further.

use core::marker::PhantomData;

use crate::memory::{self, AtomicU64, Ordering};

/// The two positions, each on a cache line of its own.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct RingHeader {
    head: CacheLine,
    tail: CacheLine,
}

#[repr(C, align(64))]
#[derive(Debug, Default)]
struct CacheLine(AtomicU64);

/// There is no room for the record now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The positions or a length are impossible: somebody wrote over the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// The second part of a record: words or half words, as their producer has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail<'a> {
    /// Of 8 bytes.
    Words(&'a [u64]),
    /// Of 4 bytes.
    Halves(&'a [u32]),
}

/// A ring's two halves live in different processes; each holds one of these.
#[derive(Clone, Copy, Debug)]
pub struct Ring<'a> {
    header: &'a RingHeader,
    data: *mut u8,
    capacity: u64,
    _memory: PhantomData<&'a [AtomicU64]>,
}

// SAFETY: the pointer is to memory shared with another process in any case; all access goes through
// `push` and `pop`, whose contracts name the one producer and the one consumer.
unsafe impl Send for Ring<'_> {}
// SAFETY: as above.
unsafe impl Sync for Ring<'_> {}

const LENGTH_BYTES: u64 = 8;

/// Bytes of the head of a release or a promotion.
pub const RELEASE_HEAD: usize = 24;

/// Bytes of the head of an allocation.
pub const ALLOCATION_HEAD: usize = 48;

impl<'a> Tail<'a> {
    /// None.
    pub const EMPTY: Tail<'static> = Tail::Words(&[]);

    /// As it comes to stand in the record.
    pub fn bytes(self) -> impl Iterator<Item = u8> + 'a {
        let (words, halves): (&[u64], &[u32]) = match self {
            Tail::Words(words) => (words, &[]),
            Tail::Halves(halves) => (&[], halves),
        };
        let words = words.iter().flat_map(|word| word.to_ne_bytes());
        words.chain(halves.iter().flat_map(|half| half.to_ne_bytes()))
    }

    /// Where it is, and how many bytes it has.
    #[inline]
    fn parts(&self) -> (*const u8, u64) {
        match self {
            Tail::Words(words) => (words.as_ptr().cast(), size_of_val(*words) as u64),
            Tail::Halves(halves) => (halves.as_ptr().cast(), size_of_val(*halves) as u64),
        }
    }
}

impl<'a> Ring<'a> {
    /// A view of a ring.
    ///
    /// # Safety
    /// `data` is valid for reads and writes of `capacity` bytes for `'a`, 8-aligned, and used by
    /// nothing but rings over the same `header`. `capacity` is a power of two, at least 16.
    pub unsafe fn new(header: &'a RingHeader, data: *mut u8, capacity: usize) -> Self {
        debug_assert!(capacity.is_power_of_two() && capacity >= 16);
        Ring { header, data, capacity: capacity as u64, _memory: PhantomData }
    }

    /// Appends one record, made of `head` and then `tail`.
    ///
    /// # Errors
    /// [`Full`] when it does not fit at present, or never will.
    ///
    /// # Safety
    /// No other `push` on this ring runs at the same time, in any process.
    #[inline(always)]
    pub unsafe fn push(&self, head: &[u8], tail: Tail<'_>) -> Result<(), Full> {
        let (tail, tail_bytes) = tail.parts();
        let payload = head.len() as u64 + tail_bytes;
        let record = LENGTH_BYTES + payload.next_multiple_of(8);
        let start = self.header.head.0.load(Ordering::Relaxed);
        let used = start.wrapping_sub(self.header.tail.0.load(Ordering::Acquire));
        if used > self.capacity || record > self.capacity - used {
            return Err(Full);
        }
        let length = payload.to_ne_bytes();
        let (at, contiguous) = self.split(start, record);
        // SAFETY: the `record` bytes from `start` are free: the consumer is past them (acquire
        // load above) and, by this function's contract, there is no other producer.
        unsafe {
            if contiguous as u64 == record {
                memory::copy_in(self.data, at, length.as_ptr(), length.len());
                self.copy_head_in(at + length.len(), head);
                if tail_bytes > 0 {
                    let rest = at + length.len() + head.len();
                    memory::copy_any_in(self.data, rest, tail, tail_bytes as usize);
                }
            } else {
                self.push_around(start, &length, head, (tail, tail_bytes));
            }
        }
        self.header.head.0.store(start + record, Ordering::Release);
        Ok(())
    }

    /// Takes the oldest record into `buffer`; `None` when the ring is empty.
    ///
    /// # Errors
    /// [`Damaged`], now and from now on; also when a record is longer than `buffer`.
    ///
    /// # Safety
    /// No other `pop` on this ring runs at the same time, in any process.
    pub unsafe fn pop<'b>(&self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>, Damaged> {
        let start = self.header.tail.0.load(Ordering::Relaxed);
        let used = self.header.head.0.load(Ordering::Acquire).wrapping_sub(start);
        if used == 0 {
            return Ok(None);
        }
        if used < LENGTH_BYTES || used > self.capacity || !start.is_multiple_of(8) {
            return Err(Damaged);
        }
        let mut length = [0; 8];
        // SAFETY: `used` bytes from `start` were published by the producer (acquire load above),
        // and are not overwritten before `tail` moves.
        unsafe { self.copy_out(start, length.as_mut_ptr(), LENGTH_BYTES) };
        let length = u64::from_ne_bytes(length);
        if length > used - LENGTH_BYTES || length > buffer.len() as u64 {
            return Err(Damaged);
        }
        // SAFETY: as above; `length` is within both `used` and the buffer.
        unsafe { self.copy_out(start + LENGTH_BYTES, buffer.as_mut_ptr(), length) };
        let record = LENGTH_BYTES + length.next_multiple_of(8);
        self.header.tail.0.store(start.wrapping_add(record), Ordering::Release);
        Ok(Some(&buffer[..length as usize]))
    }

    /// Bytes waiting for the consumer; a hint, as the other side moves on.
    pub fn used(&self) -> u64 {
        let tail = self.header.tail.0.load(Ordering::Relaxed);
        self.header.head.0.load(Ordering::Relaxed).wrapping_sub(tail)
    }

    /// Where the consumer is; moves when it makes progress.
    pub fn tail(&self) -> u64 {
        self.header.tail.0.load(Ordering::Relaxed)
    }

    /// What each sample says has one of two lengths.
    ///
    /// # Safety
    /// So many bytes at index `at` are the caller's to write.
    #[inline]
    unsafe fn copy_head_in(&self, at: usize, head: &[u8]) {
        // SAFETY: by this function's contract.
        unsafe {
            match head.len() {
                RELEASE_HEAD => memory::copy_in(self.data, at, head.as_ptr(), RELEASE_HEAD),
                ALLOCATION_HEAD => memory::copy_in(self.data, at, head.as_ptr(), ALLOCATION_HEAD),
                other => memory::copy_any_in(self.data, at, head.as_ptr(), other),
            }
        }
    }

    /// Of a record that goes on at the beginning, the parts.
    ///
    /// # Safety
    /// The tail is readable, and the record's bytes from `start` are the caller's to write.
    #[cold]
    unsafe fn push_around(&self, start: u64, length: &[u8], head: &[u8], tail: (*const u8, u64)) {
        let mut position = start;
        for (from, count) in
            [(length.as_ptr(), length.len() as u64), (head.as_ptr(), head.len() as u64), tail]
        {
            // SAFETY: by this function's contract.
            unsafe { self.copy_in(position, from, count) };
            position += count;
        }
    }

    /// # Safety
    /// `from` is readable for `count` bytes, and the `count <= capacity` bytes at `position` are
    /// the caller's to write.
    unsafe fn copy_in(&self, position: u64, from: *const u8, count: u64) {
        let (at, first) = self.split(position, count);
        // SAFETY: both pieces lie inside `capacity` by construction of `split`.
        unsafe {
            memory::copy_any_in(self.data, at, from, first);
            memory::copy_any_in(self.data, 0, from.add(first), count as usize - first);
        }
    }

    /// # Safety
    /// `to` is writable for `count` bytes, and the `count <= capacity` bytes at `position` are the
    /// caller's to read.
    unsafe fn copy_out(&self, position: u64, to: *mut u8, count: u64) {
        let (at, first) = self.split(position, count);
        // SAFETY: both pieces lie inside `capacity` by construction of `split`.
        unsafe {
            memory::copy_out(self.data, at, to, first);
            memory::copy_out(self.data, 0, to.add(first), count as usize - first);
        }
    }

    /// The index of `position`, and how many of `count` bytes come before the wrap.
    fn split(&self, position: u64, count: u64) -> (usize, usize) {
        let at = position & (self.capacity - 1);
        (at as usize, count.min(self.capacity - at) as usize)
    }
}
