//! What happens to sampled blocks, whatever the inner allocator.
//!
//! The work is `lifetrace_native`'s, which does it for malloc as well. The program says of each block how
//! large it is, so that what a realloc adds is known exactly.

use lifetrace_agent::guard;
use lifetrace_agent::sampler::{WORD, words};
use lifetrace_agent::tls;
use lifetrace_native::sample::{self, Drawn};

use crate::hooks;
use crate::listening::CallListener;

/// To be called when the countdown has ended for a new block, which `next` gives, or was not of this epoch.
#[inline(always)]
pub(crate) fn born(
    listener: &CallListener,
    size: usize,
    next: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let drawn = draw(listener, words(size), size);
    let block = next();
    if let Some(drawn) = drawn
        && !block.is_null()
    {
        sample::born(listener, drawn, block, size, size);
    }
    block
}

/// To be called when the countdown has ended for what `next` adds to a block of `old` bytes, or was not of
/// this epoch.
#[inline(always)]
pub(crate) fn grown(
    listener: &CallListener,
    old: usize,
    size: usize,
    next: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let added = words(size) - words(old);
    let drawn = draw(listener, added, (added * WORD) as usize);
    let block = next();
    if let Some(drawn) = drawn
        && !block.is_null()
    {
        sample::grown(listener, drawn, block, added, size, size);
    }
    block
}

/// A block of `old` bytes that may be a sample is given another size by `next`.
#[inline(always)]
pub(crate) fn resized(
    listener: &CallListener,
    block: *mut u8,
    old: usize,
    size: usize,
    next: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let Some(sample) = sample::lift(listener, block, || old) else {
        let added = words(size).saturating_sub(words(old));
        let may_be_hit = added != 0 && tls::take_of(hooks::epoch(), (added * WORD) as usize);
        return if may_be_hit { grown(listener, old, size, next) } else { next() };
    };
    let new = next();
    if new.is_null() {
        sample::put_back(listener, block, sample);
    } else {
        sample::resized(listener, sample, new, size, size);
    }
    new
}

/// To be called before a block of so many bytes is freed that may be a sample.
#[inline(always)]
pub(crate) fn freed(block: *mut u8, size: usize) {
    sample::freed(&CallListener::new(), block, || size);
}

/// Whether words are hit for which [`tls::take_of`] has said that they may be.
pub(crate) fn is_hit(words: u64) -> bool {
    let epoch = hooks::epoch();
    tls::epoch() == epoch || guard::enter_epoch(epoch, words)
}

fn draw(listener: &CallListener, words: u64, bytes: usize) -> Option<Drawn> {
    if is_hit(words) { sample::draw(listener, bytes) } else { None }
}
