//! Blocks of an allocator within the program that has its memory from elsewhere than malloc, as a part of malloc's samples.
//!
//! A runtime's small objects are such blocks: no function of the malloc family hears them, and their addresses are none of
//! malloc's. Who can hear them passes them on here; they are counted down, drawn and announced like any others. The allocator
//! need not say how large its blocks are.

use lifetrace_agent::sampler::footprint;
use lifetrace_agent::tls;

use crate::blocks::{self, Allocator};
use crate::interpose::Malloc;
use crate::live::{self, Block, filter};
use crate::sample;

/// What samples of such blocks have in the table in place of a usable size; blocks of malloc's have no such size.
const MARK: usize = 1;

struct Pools;

impl Allocator for Pools {
    fn tells_usable_size(&self) -> bool {
        true
    }

    fn usable_size(&self, _: *mut u8) -> usize {
        MARK
    }
}

/// Counts the words of a new block of `size` bytes; whether it may be hit, so that it is to be [born].
#[inline(always)]
pub fn may_be_hit(size: usize) -> bool {
    tls::take(footprint(size))
}

/// A new block of `size` bytes, which `next` gives, and which [may be hit](may_be_hit).
#[cold]
pub fn born(size: usize, next: impl FnOnce() -> *mut u8) -> *mut u8 {
    blocks::born(&Pools, size, next)
}

/// Whether a block may be a sample, so that it is [to end](freed) before it is freed.
#[inline(always)]
pub fn may_be_sampled(block: *mut u8) -> bool {
    filter::may_be_sampled(block)
}

/// To be called before a block is freed that [may be a sample](may_be_sampled).
#[cold]
pub fn freed(block: *mut u8) {
    if let Some(sample) = lift(block) {
        sample::ended(&Malloc, sample);
    }
}

/// What `next` makes of a block, which is not null, when it gives it the size `size`, which is one of such blocks if `is_one`.
/// One that is moved is another block: the old one is freed, and the new one allocated. One that stays has grown, or shrunk,
/// by less than what such allocators round up.
///
/// A block that came from malloc (it was larger, or had no bytes at all) stays there, whatever its size: malloc's hooks have
/// heard `next` then, by which it is known.
pub fn resized(
    block: *mut u8,
    size: usize,
    is_one: bool,
    next: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let sample = if filter::may_be_sampled(block) { lift(block) } else { None };
    let countdown = tls::countdown();
    let new = next();
    // Where all is sampled, a countdown begins where it began before.
    let is_mallocs = tls::countdown() != countdown || live::holds(new as usize);
    match sample {
        Some(sample) if new.is_null() => sample::put_back(&Malloc, block, sample),
        Some(sample) if new == block => sample::resized(&Malloc, sample, block, size, MARK),
        Some(sample) => sample::ended(&Malloc, sample),
        None => {}
    }
    let is_new = is_one && new != block && !new.is_null() && !is_mallocs;
    if is_new && may_be_hit(size) { born(size, || new) } else { new }
}

/// Takes a sample out of the table, unless it is malloc's, which is heard elsewhere.
fn lift(block: *mut u8) -> Option<Block> {
    sample::take_if(block, |block| block.mark == MARK)
}
