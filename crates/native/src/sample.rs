//! The life of a sampled block: born, resized, freed. \[UNSAFE\]
//!
//! Everything here is off the fast path. Each function enters the agent's guard for as long as it
//! works; a block whose thread is busy (a signal handler interrupted the agent) passes through, and
//! what is missed thereby is counted.

use lifetrace_agent::guard::{self, Countdown, Entered, Entry};
use lifetrace_agent::phase::Start;
use lifetrace_agent::sampler::{Hits, WORD, footprint, words};
use lifetrace_agent::tls;
use lifetrace_agent::tracker::{Allocation, Tracker};
use lifetrace_transport::message::{Manner, MemoryKind, SampleId, SourceKind};
use lifetrace_transport::segment::LostReason;

use crate::region::{self, Block, Extent, Fresh};
use crate::{totals, unwind};

/// No allocator grants more.
const LARGEST: usize = isize::MAX as usize;

/// Who hears of samples.
pub trait Ear {
    /// Starts the agent, or says that this is not the time.
    fn start(&self, start: Start);

    /// Who is told of samples.
    fn tracker(&self) -> impl Tracker<Metadata = SampleId>;

    /// A sample has died whose tracker can't be told, as the thread can't enter the agent.
    fn died_unheard(&self, sample: SampleId) {
        guard::count_lost_release(sample.0);
    }

    /// Where the agent is a part of the program: frames whose stack pointers are not above this are the
    /// agent's own.
    fn own_stack(&self) -> u64 {
        0
    }
}

/// Who hears of blocks, and the allocator beneath: whose blocks are no samples.
pub trait Host {
    /// Who hears.
    fn ear(&self) -> &impl Ear;

    /// A block of the next allocator, or null.
    fn allocate(&self, size: usize, alignment: usize) -> *mut u8;

    /// Frees a block that the program has not freed.
    ///
    /// # Safety
    /// The caller owns `old`, a block of the next allocator of so many usable bytes, and gives it up.
    unsafe fn give_up(&self, old: *mut u8, old_bytes: usize);
}

/// A block's new words, as they are announced.
#[derive(Clone, Copy, Debug)]
struct Birth {
    first: u64,
    words: u64,
    hits: u64,
    bytes: u64,
}

/// What a new block, or one that grows, is when the countdown went below zero for it.
#[derive(Clone, Copy, Debug)]
pub enum Born {
    /// A sample, and here it is.
    Sample(Fresh),
    /// A sample for which the region has no room: see [`counted_as_lost`].
    NoRoom,
    /// None.
    Pass,
}

/// To be called when the countdown went below zero for a new block of `size` bytes.
#[cold]
pub fn born(ear: &impl Ear, size: usize, alignment: usize) -> Born {
    let Some((mut entered, hits)) = hit(ear, size) else { return Born::Pass };
    let Some(fresh) = region::allocate(size, alignment) else { return Born::NoRoom };
    let birth = Birth { first: 0, words: words(size), hits: hits.count, bytes: size as u64 };
    announce(ear, &mut entered, fresh.block, birth);
    Born::Sample(fresh)
}

/// To be called when the countdown went below zero for `size` bytes that no allocator sees. If they are a
/// sample, `kind` says what they are, and they have the name that is returned until it is given to
/// [`given_back`].
#[cold]
pub fn said(
    ear: &impl Ear,
    size: usize,
    kind: impl FnOnce(&mut Entered) -> Option<MemoryKind>,
) -> Option<SampleId> {
    let (mut entered, hits) = hit(ear, size)?;
    unwind::capture(&mut entered, ear.own_stack());
    let manner = Manner::Outside(kind(&mut entered)?);
    let (size, samples, source) = (size as u64, hits.count, SourceKind::Malloc);
    ear.tracker().allocated(&mut entered, &Allocation { size, samples, source, manner })
}

/// Memory that was [`said`] is no longer there.
#[cold]
pub fn given_back(ear: &impl Ear, sample: SampleId) {
    match enter_started(ear) {
        Entry::Recording(mut entered) => ear.tracker().freed(&mut entered, sample),
        _ => ear.died_unheard(sample),
    }
}

/// Memory that was [`said`] has moved to where it lives longer.
#[cold]
pub fn promoted(ear: &impl Ear, sample: SampleId) {
    if let Entry::Recording(mut entered) = enter_started(ear) {
        ear.tracker().promoted(&mut entered, sample);
    }
}

/// Counts a sample that found no room in the region, if the next allocator had some for it.
#[cold]
pub fn counted_as_lost(block: *mut u8) -> *mut u8 {
    if !block.is_null()
        && let Entry::Recording(entered) = guard::enter()
    {
        entered.session().header.count_lost(LostReason::RegionFull);
    }
    block
}

/// To be called when the countdown went below zero for the words that a realloc to `size` bytes adds
/// to a block of the next allocator. If the growth is a sample, the block has moved to its new place.
///
/// # Safety
/// `old` is a block of the next allocator with `old_bytes` usable bytes, and the caller gives it up
/// if the result is a sample.
#[cold]
pub unsafe fn grown(
    host: &impl Host,
    old: *mut u8,
    old_bytes: usize,
    added: u64,
    size: usize,
    alignment: usize,
) -> Born {
    let hit = hit(host.ear(), (added * WORD) as usize);
    let Some((mut entered, hits)) = hit else { return Born::Pass };
    let Some(fresh) = region::allocate(size, alignment) else { return Born::NoRoom };
    let first = words(size) - added;
    announce(host.ear(), &mut entered, fresh.block, growth(first, added, hits));
    drop(entered);
    let new = fresh.block.address();
    // SAFETY: both have that many bytes; the old one is given up by contract.
    unsafe {
        core::ptr::copy_nonoverlapping(old, new, old_bytes.min(size));
        host.give_up(old, old_bytes);
    }
    Born::Sample(fresh)
}

/// To be called when the countdown went below zero for words that were added to a block of the next
/// allocator without moving it. If they are hit, `undo` takes them away again; whether it did. What it
/// can't is counted as lost.
#[cold]
pub fn hit_in_vain(ear: &impl Ear, added: u64, undo: impl FnOnce() -> bool) -> bool {
    let Some((entered, _)) = hit(ear, (added * WORD) as usize) else { return false };
    let undone = undo();
    if !undone {
        entered.session().header.count_lost(LostReason::RegionFull);
    }
    undone
}

/// Frees what may be a sampled block; false if it is none (any more), so not ours to free.
///
/// # Safety
/// `address` is in the region and comes from the program's call of free.
#[cold]
pub unsafe fn freed(ear: &impl Ear, address: *mut u8) -> bool {
    // SAFETY: by contract.
    let Some(block) = (unsafe { Block::at(address) }) else { return false };
    if !block.claim() {
        return false;
    }
    match enter_started(ear) {
        Entry::Recording(mut entered) => {
            end(block, |extent| release(ear, &mut entered, extent.sample))
        }
        _ => end(block, |extent| ear.died_unheard(SampleId(extent.sample))),
    }
    true
}

/// Gives a sampled block the size `size`, in place or elsewhere; null when there is no memory, and
/// then the block is as before. `alignment` is a power of two.
///
/// # Safety
/// The caller owns `block`, and gives it up unless the result is null.
#[cold]
pub unsafe fn resized(host: &impl Host, block: Block, size: usize, alignment: usize) -> *mut u8 {
    let Some(place) = place_for(block, size, alignment) else {
        // SAFETY: the caller's.
        return unsafe { leave_region(host, block, size, alignment) };
    };
    settle(host.ear(), place, size);
    place.address()
}

/// Gives a sampled block the size `size` where it is; whether that worked. The caller owns it.
#[cold]
pub fn resized_in_place(ear: &impl Ear, block: Block, size: usize) -> bool {
    let fits = size <= block.capacity() || block.fit(size);
    if fits {
        settle(ear, block, size);
    }
    fits
}

/// Says what a new size means for the samples of a block that has room for it.
fn settle(ear: &impl Ear, block: Block, size: usize) {
    let (old_words, new_words) = (words(block.size()), words(size));
    block.resize(size);
    if new_words < old_words {
        shrink(ear, block, new_words, size);
    } else if new_words > old_words {
        grow(ear, block, old_words, new_words - old_words);
    }
}

/// Where a block of the new size goes, with its contents and extents: in place if that fits and does
/// not waste memory, or can be made to, or if there is no other place.
fn place_for(block: Block, size: usize, alignment: usize) -> Option<Block> {
    let capacity = block.capacity();
    let is_snug = size <= capacity && capacity - size <= size / 4 + 64;
    let is_aligned = (block.address() as usize).is_multiple_of(alignment);
    if is_aligned && (is_snug || block.fit(size)) {
        return Some(block);
    }
    let Some(fresh) = region::allocate(size, alignment) else {
        return (is_aligned && size <= capacity).then_some(block);
    };
    let place = fresh.block;
    let kept = block.size().min(size);
    // SAFETY: both blocks have that many bytes, and are distinct.
    unsafe { core::ptr::copy_nonoverlapping(block.address(), place.address(), kept) };
    // The sizes are compared later: until then the new place has the old size.
    let old_size = block.size();
    block.hand_extents_to(place);
    if block.claim() {
        // SAFETY: claimed, and its extents have moved.
        unsafe { block.release() };
    }
    place.resize(old_size);
    Some(place)
}

/// The region is full: the block moves to the next allocator, and ends as a sample.
///
/// # Safety
/// As for [`resized`].
unsafe fn leave_region(host: &impl Host, block: Block, size: usize, alignment: usize) -> *mut u8 {
    let new = host.allocate(size, alignment);
    if !new.is_null() {
        // SAFETY: both have that many bytes; the old one is given up.
        unsafe {
            core::ptr::copy_nonoverlapping(block.address(), new, block.size().min(size));
            counted_as_lost(new);
            freed(host.ear(), block.address());
        }
    }
    new
}

fn grow(ear: &impl Ear, block: Block, first: u64, added: u64) {
    let bytes = (added * WORD) as usize;
    if !tls::take(bytes) {
        return;
    }
    if let Some((mut entered, hits)) = hit(ear, bytes) {
        announce(ear, &mut entered, block, growth(first, added, hits));
    }
}

/// Ends the extents beyond `kept` words, and announces again what is left of one that is cut.
fn shrink(ear: &impl Ear, block: Block, kept: u64, size: usize) {
    let Entry::Recording(mut entered) = enter_started(ear) else { return };
    let mut cut = None;
    block.retain(|extent| {
        // What was sampled at another rate stays as it is: nothing that is announced now counts by that.
        let is_old = entered.session().is_of_earlier_rate(extent.sample) && extent.first < kept;
        let stays = is_old || extent.first + extent.words <= kept;
        if !stays {
            release(ear, &mut entered, extent.sample);
            cut = (extent.first < kept).then_some(*extent).or(cut);
        }
        stays
    });
    let Some(cut) = cut else { return };
    let words = kept - cut.first;
    let rate = entered.session().rate();
    let hits = rate.thin(&mut entered.random, cut.hits, words, cut.words);
    if hits > 0 {
        let bytes = if cut.first == 0 { size as u64 } else { words * WORD };
        announce(ear, &mut entered, block, Birth { first: cut.first, words, hits, bytes });
    }
}

fn growth(first: u64, words: u64, hits: Hits) -> Birth {
    Birth { first, words, hits: hits.count, bytes: words * WORD }
}

/// Captures the backtrace, and says that some words of `block` are a sample. If that does not get
/// through, they are none.
#[inline(never)]
fn announce(ear: &impl Ear, entered: &mut Entered, block: Block, birth: Birth) {
    unwind::capture(entered, ear.own_stack());
    let Birth { first, words, hits, bytes } = birth;
    let allocation = Allocation {
        size: bytes,
        samples: hits,
        source: SourceKind::Malloc,
        manner: if first == 0 { Manner::Plain } else { Manner::Growth },
    };
    let announced = ear.tracker().allocated(entered, &allocation);
    totals::tell_if_due(entered);
    if let Some(SampleId(sample)) = announced
        && !block.attach(Extent { sample, first, words, hits })
    {
        release(ear, entered, sample);
        entered.session().header.count_lost(LostReason::RegionFull);
    }
}

/// Ends a claimed block and all its extents. The caller is inside the agent if it can be, so that a
/// signal handler which comes in between finds the thread busy.
fn end(block: Block, mut say: impl FnMut(&Extent)) {
    block.retain(|extent| {
        say(extent);
        false
    });
    // SAFETY: claimed by the caller, and there are no extents left.
    unsafe { block.release() };
}

fn release(ear: &impl Ear, entered: &mut Entered, sample: u64) {
    ear.tracker().freed(entered, SampleId(sample));
}

/// Enters; a forked child that has not looked for the recorder yet does so first.
pub(crate) fn enter_started(ear: &impl Ear) -> Entry {
    match guard::enter() {
        Entry::Start(start) => {
            ear.start(start);
            guard::enter()
        }
        other => other,
    }
}

/// Whether the block, or the added words, of `size` bytes are hit; starts the agent if need be.
pub(crate) fn hit(ear: &impl Ear, size: usize) -> Option<(Entered, Hits)> {
    if size > LARGEST - 8 {
        tls::set_countdown(tls::countdown().wrapping_add(footprint(size) as i64));
        return None;
    }
    for _ in 0..2 {
        match guard::countdown_ended(words(size)) {
            Countdown::Hit(entered, hits) => {
                region::heap().age(bytes_for(&entered, hits));
                return Some((entered, hits));
            }
            Countdown::Start(start) => ear.start(start),
            Countdown::Pass => return None,
        }
    }
    None
}

/// What the program has allocated for so many hits, on average.
fn bytes_for(entered: &Entered, hits: Hits) -> usize {
    let rate = entered.session().rate().probability();
    ((hits.count * WORD) as f64 / rate) as usize
}
