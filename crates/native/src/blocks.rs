//! What the hooks of any allocator do with its blocks: the way from a countdown that has ended, or a filter
//! that does not exclude a sample, to [`crate::sample`].
//!
//! The allocator itself is called by `next`, always in the same way, whether a block is a sample or not.

use lifetrace_agent::sampler::{WORD, footprint, words};
use lifetrace_agent::tls;

use crate::interpose::Malloc;
use crate::live::{Block, filter};
use crate::sample;

/// An allocator that may be able to say how large its blocks are.
pub(crate) trait Allocator {
    /// Whether it can say that.
    fn tells_usable_size(&self) -> bool;

    /// How many bytes its block has; 0 if it does not say, or of null.
    fn usable_size(&self, block: *mut u8) -> usize;
}

/// A new block, which `next` gives, and for which the countdown has ended: a sample, if its words are hit.
#[cold]
#[inline(never)]
pub(crate) fn born(of: &impl Allocator, size: usize, next: impl FnOnce() -> *mut u8) -> *mut u8 {
    let drawn = sample::draw(&Malloc, size);
    let block = next();
    if let Some(drawn) = drawn
        && !block.is_null()
    {
        sample::born(&Malloc, drawn, block, size, of.usable_size(block));
    }
    block
}

/// To be called before a block is freed that may be a sample.
#[cold]
#[inline(never)]
pub(crate) fn freed(of: &impl Allocator, block: *mut u8) {
    sample::freed(&Malloc, block, || of.usable_size(block));
}

/// What `next` makes of a block, which is not null, when it gives it the size `size`. What it adds is new. An
/// allocator that does not say how large its blocks are is taken to free the one and to give another.
pub(crate) fn resized(
    of: &impl Allocator,
    block: *mut u8,
    size: usize,
    next: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    if filter::may_be_sampled(block)
        && let Some(sample) = sample::lift(&Malloc, block, || of.usable_size(block))
    {
        return sample_resized(of, sample, block, size, next);
    }
    let added = added(of, block, size);
    if size != 0 && added != 0 && tls::take((added * WORD) as usize) {
        return grown(of, size, added, next);
    }
    next()
}

/// How many words are new of a block that is no sample.
fn added(of: &impl Allocator, block: *mut u8, size: usize) -> u64 {
    match of.usable_size(block) {
        0 => words(size),
        usable => words(size).saturating_sub(words_of_usable(usable)),
    }
}

/// The countdown has ended for the words that `next` adds to a block that is no sample.
#[cold]
#[inline(never)]
fn grown(of: &impl Allocator, size: usize, added: u64, next: impl FnOnce() -> *mut u8) -> *mut u8 {
    let drawn = sample::draw(&Malloc, (added * WORD) as usize);
    let block = next();
    if let Some(drawn) = drawn
        && !block.is_null()
    {
        sample::grown(&Malloc, drawn, block, added, size, of.usable_size(block));
    }
    block
}

/// As [`resized`], of a block that was a sample until now.
#[cold]
#[inline(never)]
fn sample_resized(
    of: &impl Allocator,
    sample: Block,
    old: *mut u8,
    size: usize,
    next: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let block = next();
    match (block.is_null(), size) {
        // What an allocator without memory returns, or one that has freed the block.
        (true, 0) => sample::ended(&Malloc, sample),
        (true, _) => sample::put_back(&Malloc, old, sample),
        (false, _) if of.tells_usable_size() => {
            sample::resized(&Malloc, sample, block, size, of.usable_size(block));
        }
        (false, _) => {
            sample::ended(&Malloc, sample);
            if tls::take(footprint(size)) {
                return born(of, size, || block);
            }
        }
    }
    block
}

/// What the program asked for, in words, of a block with so many usable bytes. glibc has 8 bytes more than a
/// multiple of 16, and programs mostly ask for that multiple; where they don't, a growth is a word more or
/// less than is counted.
pub(crate) fn words_of_usable(usable: usize) -> u64 {
    let slack = if usable % 16 == 8 { 8 } else { 0 };
    words(usable - slack)
}
