//! The sampled blocks that live, by their addresses. \[UNSAFE\]
//!
//! ```text
//! free(address) ── filter: may be a sample? ── no ──▶ the next free
//!                        └ maybe ──▶ shard (a lock, a hash table) ──▶ Block: which words were hit
//! ```
//!
//! A sampled block is the next allocator's like any other; nothing in it or before it is ours. So it does
//! no harm if it is freed by somebody who does not come by us: its entry stays, and is found out when the
//! address comes back ([`Block::mark`]).
//!
//! The table is cut into [`SHARDS`] shards by the address, each with a lock that is held for some dozen
//! instructions. A shard's table grows under its lock; its memory is the agent's own.
//!
//! # Growth of the filter
//!
//! When there are too many samples for the [`filter`]'s counters, each shard begins to count in twice as
//! many as well; once all have, `free` goes by those; then each shard stops to count in the first ones. A
//! `free` that was interrupted for so long, between two instructions, may look at a counter of before, and
//! miss its sample.

mod block;
pub mod filter;

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashTable;
use lifetrace_agent::lock::{Held, Lock, Patience};
use lifetrace_transport::message::disguise;

use self::filter::{Hash, Mask};
use crate::arena::Arena;
pub use block::{Block, Extent};

/// A power of two, and at most the number of the filter's counters: those of a shard are its own.
const SHARDS: usize = 64;

static TABLE: [Shard; SHARDS] = [const { Shard::new() }; SHARDS];

/// Samples in all shards.
static SAMPLES: AtomicUsize = AtomicUsize::new(0);

/// Held by who has the filter grow.
static GROWTH: Lock = Lock::new();

/// One part of the table, on cache lines of its own.
#[repr(align(64))]
struct Shard {
    lock: Lock,
    state: UnsafeCell<State>,
}

// SAFETY: `state` is touched under `lock` only.
unsafe impl Sync for Shard {}

struct State {
    blocks: HashTable<Entry, Arena>,
    /// The counters in which samples are counted: once if both are the same.
    masks: [Mask; 2],
}

struct Entry {
    /// In [disguise]: who looks through the process's memory for pointers to the block is not to find this one.
    disguised: u64,
    block: Block,
}

impl Entry {
    fn new(address: usize, block: Block) -> Entry {
        Entry { disguised: disguise(address as u64), block }
    }

    fn address(&self) -> usize {
        disguise(self.disguised) as usize
    }
}

/// What became of a look-up.
#[derive(Debug)]
pub enum Taken {
    /// The sample, which is not in the table any more.
    Block(Block),
    /// There is none.
    None,
    /// The table could not be had in time.
    Busy,
}

/// Enters a sample that lives at `address`, where none is yet: one that may be there is [taken](take) first.
///
/// # Errors
/// If there is no memory for it, or the table could not be had in time.
pub fn insert(address: usize, block: Block, patience: Patience) -> Result<(), Block> {
    let Some(mut locked) = shard(address).lock(patience) else { return Err(block) };
    locked.state().insert(address, block)?;
    drop(locked);
    let samples = SAMPLES.fetch_add(1, Ordering::Relaxed) + 1;
    if Mask::in_use().is_full(samples) {
        grow(samples);
    }
    Ok(())
}

/// Takes the sample at `address` out of the table.
pub fn take(address: usize, patience: Patience) -> Taken {
    take_if(address, patience, |_| true)
}

/// Takes the sample at `address` out of the table, if it is wanted.
pub fn take_if(address: usize, patience: Patience, is_wanted: impl Fn(&Block) -> bool) -> Taken {
    let Some(mut locked) = shard(address).lock(patience) else { return Taken::Busy };
    match locked.state().remove(address, is_wanted) {
        Some(block) => {
            SAMPLES.fetch_sub(1, Ordering::Relaxed);
            Taken::Block(block)
        }
        None => Taken::None,
    }
}

/// Whether there is a sample at `address`; `false`, too, if the table could not be had in time.
pub fn holds(address: usize) -> bool {
    filter::may_be_sampled(address as *mut u8)
        && shard(address)
            .lock(Patience::Short)
            .is_some_and(|mut locked| locked.state().has(address))
}

/// Whether there are any.
pub fn are_any() -> bool {
    SAMPLES.load(Ordering::Relaxed) > 0
}

/// Forgets all samples. Frees of them are not observed any more.
pub fn clear() {
    for shard in &TABLE {
        if let Some(mut locked) = shard.lock(Patience::Short) {
            let old = core::mem::replace(locked.state(), State::new());
            drop(locked);
            SAMPLES.fetch_sub(old.blocks.len(), Ordering::Relaxed);
        }
    }
    reset_filter();
}

/// In a forked child, whose only thread this is: forgets what is the parent's, and the locks of its threads.
/// The memory is left alone, as another thread may have been at work in it.
pub fn abandon() {
    for shard in &TABLE {
        shard.lock.reset();
        if let Some(mut locked) = shard.lock(Patience::None) {
            core::mem::forget(core::mem::replace(locked.state(), State::new()));
        }
    }
    GROWTH.reset();
    SAMPLES.store(0, Ordering::Relaxed);
    reset_filter();
}

fn reset_filter() {
    let mask = Mask::in_use();
    Mask::FIRST.publish();
    mask.clear();
}

/// Doubles the filter's counters until they do for so many samples.
#[cold]
fn grow(samples: usize) {
    let Some(_held) = GROWTH.acquire(Patience::None) else { return };
    while Mask::in_use().is_full(samples) {
        let (old, new) = (Mask::in_use(), Mask::in_use().doubled());
        if !each_shard(|state| state.count_in([old, new])) {
            // Some count in both, which does no harm; the next growth has them all do so.
            return;
        }
        new.publish();
        each_shard(|state| state.count_in([new, new]));
    }
}

/// Whether all of them could be had.
fn each_shard(mut work: impl FnMut(&mut State)) -> bool {
    let mut all = true;
    for shard in &TABLE {
        match shard.lock(Patience::Short) {
            Some(mut locked) => work(locked.state()),
            None => all = false,
        }
    }
    all
}

fn shard(address: usize) -> &'static Shard {
    &TABLE[Hash::of(address).0 as usize % SHARDS]
}

struct Locked<'a> {
    shard: &'a Shard,
    _held: Held<'a>,
}

impl Shard {
    const fn new() -> Shard {
        Shard { lock: Lock::new(), state: UnsafeCell::new(State::new()) }
    }

    fn lock(&self, patience: Patience) -> Option<Locked<'_>> {
        let held = self.lock.acquire(patience)?;
        Some(Locked { shard: self, _held: held })
    }
}

impl Locked<'_> {
    fn state(&mut self) -> &mut State {
        // SAFETY: the lock is this one's, and it lends the state to one at a time.
        unsafe { &mut *self.shard.state.get() }
    }
}

impl State {
    const fn new() -> State {
        State { blocks: HashTable::new_in(Arena), masks: [Mask::FIRST; 2] }
    }

    fn insert(&mut self, address: usize, block: Block) -> Result<(), Block> {
        let rehash = |entry: &Entry| table_hash(entry.address());
        if self.blocks.try_reserve(1, rehash).is_err() {
            return Err(block);
        }
        self.blocks.insert_unique(table_hash(address), Entry::new(address, block), rehash);
        each_counter(self.masks, address, filter::count);
        Ok(())
    }

    fn has(&self, address: usize) -> bool {
        self.blocks.find(table_hash(address), |entry| entry.address() == address).is_some()
    }

    fn remove(&mut self, address: usize, is_wanted: impl Fn(&Block) -> bool) -> Option<Block> {
        let is_it = |entry: &Entry| entry.address() == address && is_wanted(&entry.block);
        let found = self.blocks.find_entry(table_hash(address), is_it).ok()?;
        let (entry, _) = found.remove();
        each_counter(self.masks, address, filter::discount);
        Some(entry.block)
    }

    /// Counts in these counters from now on, all samples included.
    fn count_in(&mut self, masks: [Mask; 2]) {
        for entry in &self.blocks {
            each_counter(masks, entry.address(), filter::count);
            each_counter(self.masks, entry.address(), filter::discount);
        }
        self.masks = masks;
    }
}

fn each_counter(masks: [Mask; 2], address: usize, work: fn(&core::sync::atomic::AtomicU8)) {
    let hash = Hash::of(address);
    let [first, second] = masks.map(|mask| mask.counter(hash));
    work(first);
    if !core::ptr::eq(first, second) {
        work(second);
    }
}

/// The table looks at the lowest and the highest bits, of which the shard's addresses share some.
fn table_hash(address: usize) -> u64 {
    let mixed = (address as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests;
