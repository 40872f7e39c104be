//! The samples among the blocks of allocators in the program, by address. \[UNSAFE\]
//!
//! `free` asks a small filter first: a count for each of 65,536 hashes of addresses. The table is behind a
//! lock, under which nothing is called that waits. What cannot be noted is counted as lost.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU8, Ordering};

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use lifetrace_agent::guard::{Entered, Entry};
use lifetrace_agent::lock::{self, Lock, Patience};
use lifetrace_agent::sampler::{Hits, WORD};
use lifetrace_agent::tracker::{Allocation, Tracker};
use lifetrace_transport::message::{Manner, SampleId, SourceKind};
use lifetrace_transport::segment::LostReason;

use crate::interpose::Malloc;
use crate::sample::{self, Ear};
use crate::{totals, unwind};

/// New words of a block, some of which were hit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Birth {
    pub(super) first: u64,
    pub(super) words: u64,
    pub(super) bytes: u64,
    pub(super) hits: Hits,
}

/// Words that were announced together.
#[derive(Clone, Copy, Debug)]
struct Extent {
    sample: u64,
    first: u64,
    words: u64,
    hits: u64,
}

/// What is known of a block with samples.
#[derive(Debug)]
pub(super) struct Held {
    words: u64,
    extents: Vec<Extent>,
}

struct Table(UnsafeCell<BTreeMap<usize, Held>>);

// SAFETY: touched under `LOCK` only.
unsafe impl Sync for Table {}

static TABLE: Table = Table(UnsafeCell::new(BTreeMap::new()));
static LOCK: Lock = Lock::new();

/// How many blocks of the table have a hash; 255 stands for any number from then on.
static FILTER: [AtomicU8; 1 << 16] = [const { AtomicU8::new(0) }; 1 << 16];

impl Held {
    /// Its size.
    pub(super) fn words(&self) -> u64 {
        self.words
    }

    /// With another size, and as another block: what lies beyond it ends, and what is left of an extent that is
    /// cut is announced anew. `None` if nothing is left.
    pub(super) fn resized(mut self, block: usize, words: u64, bytes: usize) -> Option<Held> {
        let stays = |extent: &Extent| extent.first + extent.words <= words;
        let gone: Vec<Extent> = self.extents.iter().copied().filter(|it| !stays(it)).collect();
        end(&gone);
        self.extents.retain(stays);
        self.words = words;
        let cut = gone.iter().find(|extent| extent.first < words && block != 0);
        self.extents.extend(cut.and_then(|extent| announce_rest(extent, words, bytes)));
        (!self.extents.is_empty()).then_some(self)
    }
}

/// Whether a block may be in the table.
#[inline(always)]
pub(super) fn may_hold(block: usize) -> bool {
    place(block).load(Ordering::Relaxed) != 0
}

/// Whether a block is in the table.
pub(super) fn holds(block: usize) -> bool {
    may_hold(block) && with_table(|table| table.contains_key(&block)) == Some(true)
}

/// Whether new words of so many bytes, for which the countdown ended, are hit.
pub(super) fn draw(bytes: usize) -> Option<Hits> {
    sample::hit(&Malloc, bytes).map(|(_entered, hits)| hits)
}

/// Says that some words of a block are a sample.
#[cold]
#[inline(never)]
pub(super) fn announce(block: usize, birth: Birth) {
    let Entry::Recording(mut entered) = sample::enter_started(&Malloc) else { return };
    let Some(extent) = tell(&mut entered, birth) else { return };
    if !add(&mut entered, block, extent) {
        release(&mut entered, &extent);
        entered.session().header.count_lost(LostReason::RegionFull);
    }
}

fn tell(entered: &mut Entered, birth: Birth) -> Option<Extent> {
    unwind::capture(entered, Malloc.own_stack());
    let manner = if birth.first == 0 { Manner::Plain } else { Manner::Growth };
    let (size, samples, source) = (birth.bytes, birth.hits.count, SourceKind::Malloc);
    let allocation = Allocation { size, samples, source, manner };
    let announced = Malloc.tracker().allocated(entered, &allocation);
    totals::tell_if_due(entered);
    let SampleId(sample) = announced?;
    let Birth { first, words, hits, .. } = birth;
    Some(Extent { sample, first, words, hits: hits.count })
}

/// What is left of an extent in a block of so many words, if any of that was hit.
fn announce_rest(cut: &Extent, words: u64, bytes: usize) -> Option<Extent> {
    let Entry::Recording(mut entered) = sample::enter_started(&Malloc) else { return None };
    let kept = words - cut.first;
    let rate = entered.session().rate();
    let count = rate.thin(&mut entered.random, cut.hits, kept, cut.words);
    let bytes = if cut.first == 0 { bytes as u64 } else { kept * WORD };
    let hits = Hits { count, gap: 0 };
    let birth = Birth { first: cut.first, words: kept, bytes, hits };
    if count > 0 { tell(&mut entered, birth) } else { None }
}

/// The program gives a block back.
#[cold]
#[inline(never)]
pub(super) fn freed(block: usize) {
    if let Some(held) = take_out(block) {
        end(&held.extents);
    }
}

/// What is known of a block that the program gives to realloc, and which may be somebody else's soon.
pub(super) fn take_out(block: usize) -> Option<Held> {
    if !may_hold(block) {
        return None;
    }
    let held = with_table(|table| table.remove(&block))??;
    count(block, |count| count - 1);
    Some(held)
}

/// What is known of a block that the program has got from realloc.
pub(super) fn put_in(block: usize, held: Option<Held>) {
    let Some(held) = held else { return };
    if block == 0 {
        return end(&held.extents);
    }
    if let Some(Some(stale)) = with_table(|table| table.insert(block, held)) {
        end(&stale.extents);
    } else {
        count(block, |count| count + 1);
    }
}

/// Holds the table still, for a fork.
pub fn freeze() -> Option<lock::Held<'static>> {
    LOCK.acquire(Patience::Short)
}

/// Ends the hold on the table, whose holder was forgotten or is not in this process.
pub fn thaw() {
    LOCK.reset();
}

/// Adds to a block, or begins one that may have been freed behind our back. False if nobody knows.
fn add(entered: &mut Entered, block: usize, extent: Extent) -> bool {
    let words = extent.first + extent.words;
    let stale = with_table(|table| {
        let known = table.get_mut(&block).filter(|_| extent.first > 0);
        if let Some(held) = known {
            held.words = words;
            held.extents.push(extent);
            return None;
        }
        count(block, |count| count + 1);
        table.insert(block, Held { words, extents: Vec::from([extent]) })
    });
    if let Some(Some(stale)) = &stale {
        count(block, |count| count - 1);
        stale.extents.iter().for_each(|it| release(entered, it));
    }
    stale.is_some()
}

fn end(extents: &[Extent]) {
    match sample::enter_started(&Malloc) {
        Entry::Recording(mut entered) => extents.iter().for_each(|it| release(&mut entered, it)),
        _ => extents.iter().for_each(|it| Malloc.died_unheard(SampleId(it.sample))),
    }
}

fn release(entered: &mut Entered, extent: &Extent) {
    Malloc.tracker().freed(entered, SampleId(extent.sample));
}

fn with_table<T>(work: impl FnOnce(&mut BTreeMap<usize, Held>) -> T) -> Option<T> {
    let _held = LOCK.acquire(Patience::Short)?;
    // SAFETY: under the lock.
    Some(work(unsafe { &mut *TABLE.0.get() }))
}

fn place(block: usize) -> &'static AtomicU8 {
    let hash = (block >> 4) ^ (block >> 20);
    &FILTER[hash & 0xffff]
}

fn count(block: usize, change: impl Fn(u8) -> u8) {
    let change = |count| Some(if count == u8::MAX { count } else { change(count) });
    // Neither goes wrong: what is taken out was put in.
    let _ = place(block).fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
}
