//! What happens to sampled blocks, whatever the inner allocator. \[UNSAFE\]
//!
//! The work is `lifetrace_native`'s, which does it for malloc as well. A [`Layout`] says how large a block
//! is, so that what a realloc adds is known exactly.

use std::alloc::{GlobalAlloc, Layout};

use lifetrace_agent::guard;
use lifetrace_agent::sampler::words;
use lifetrace_agent::tls;
use lifetrace_native::region::{self, Block, Fresh};
use lifetrace_native::sample::{self, Born, Ear, Host};

use crate::hooks::{self, Claim};
use crate::listening::Heard;

/// The inner allocator as the host of samples, for the length of a call.
#[derive(Debug)]
pub(crate) struct Inner<'a, A> {
    inner: &'a A,
    /// Of the block that is handed in.
    layout: Layout,
    heard: Heard,
}

impl<'a, A: GlobalAlloc> Inner<'a, A> {
    /// To be made in the outermost function that is not to be seen in backtraces.
    #[inline(always)]
    pub(crate) fn new(inner: &'a A, layout: Layout) -> Self {
        Inner { inner, layout, heard: Heard::new() }
    }
}

impl<A: GlobalAlloc> Host for Inner<'_, A> {
    fn ear(&self) -> &impl Ear {
        &self.heard
    }

    fn allocate(&self, size: usize, alignment: usize) -> *mut u8 {
        let layout = Layout::from_size_align(size, alignment);
        layout.map_or(std::ptr::null_mut(), |layout| {
            // SAFETY: a block that is resized has a size.
            unsafe { self.inner.alloc(layout) }
        })
    }

    unsafe fn give_up(&self, old: *mut u8, _old_bytes: usize) {
        // SAFETY: by contract, and the layout is the old block's.
        unsafe { self.inner.dealloc(old, self.layout) };
    }
}

/// To be called when the countdown has ended for a new block, or was not of this epoch: a sample, or what
/// `next` gives.
#[inline(always)]
pub(crate) fn born<A: GlobalAlloc>(
    host: &Inner<'_, A>,
    next: impl FnOnce(&A, Layout) -> *mut u8,
) -> *mut u8 {
    match place(host) {
        Born::Sample(fresh) => fresh.block.address(),
        Born::NoRoom => sample::counted_as_lost(next(host.inner, host.layout)),
        Born::Pass => next(host.inner, host.layout),
    }
}

/// Likewise, for one that is to be zero.
#[inline(always)]
pub(crate) fn born_zeroed<A: GlobalAlloc>(
    host: &Inner<'_, A>,
    next: impl FnOnce(&A, Layout) -> *mut u8,
) -> *mut u8 {
    match place(host) {
        Born::Sample(Fresh { block, dirty }) => {
            // SAFETY: the block has so many bytes, of which these may be other than zero.
            unsafe { block.address().write_bytes(0, dirty) };
            block.address()
        }
        Born::NoRoom => sample::counted_as_lost(next(host.inner, host.layout)),
        Born::Pass => next(host.inner, host.layout),
    }
}

/// To be called when the countdown has ended for what is added to a block of the inner allocator, or was
/// not of this epoch.
///
/// # Safety
/// [`GlobalAlloc::realloc`]'s for `block`, with the host's layout; `next` calls the inner allocator's.
#[inline(always)]
pub(crate) unsafe fn grown<A: GlobalAlloc>(
    host: &Inner<'_, A>,
    block: *mut u8,
    size: usize,
    next: impl FnOnce(&A) -> *mut u8,
) -> *mut u8 {
    let (old, align) = (host.layout.size(), host.layout.align());
    let added = words(size) - words(old);
    let born = if is_hit(added) {
        claimed(|| {
            // SAFETY: by contract.
            unsafe { sample::grown(host, block, old, added, size, align) }
        })
    } else {
        Born::Pass
    };
    match born {
        Born::Sample(fresh) => fresh.block.address(),
        Born::NoRoom => sample::counted_as_lost(next(host.inner)),
        Born::Pass => next(host.inner),
    }
}

/// A new size for a block in the region.
///
/// # Safety
/// [`GlobalAlloc::realloc`]'s for `block`, with the host's layout.
#[inline(always)]
pub(crate) unsafe fn resized<A: GlobalAlloc>(
    host: &Inner<'_, A>,
    block: *mut u8,
    size: usize,
) -> *mut u8 {
    let align = host.layout.align();
    // SAFETY: by contract.
    let new = unsafe {
        let Some(sampled) = Block::at(block) else {
            return host.inner.realloc(block, host.layout, size);
        };
        sample::resized(host, sampled, size, align)
    };
    if !new.is_null() && !region::contains(new) {
        drop(Claim::of_placed());
    }
    new
}

/// The end of a block in the region.
///
/// # Safety
/// [`GlobalAlloc::dealloc`]'s for `block`, with the host's layout.
#[inline(always)]
pub(crate) unsafe fn freed<A: GlobalAlloc>(host: &Inner<'_, A>, block: *mut u8) {
    // SAFETY: by contract. What is no block of ours is the inner allocator's to judge.
    unsafe {
        if sample::freed(&host.heard, block) {
            drop(Claim::of_placed());
        } else {
            host.inner.dealloc(block, host.layout);
        }
    }
}

#[inline(always)]
fn place<A: GlobalAlloc>(host: &Inner<'_, A>) -> Born {
    let (size, align) = (host.layout.size(), host.layout.align());
    match is_hit(words(size)) {
        true => claimed(|| sample::born(&host.heard, size, align)),
        false => Born::Pass,
    }
}

/// Whether words are hit for which [`tls::take_of`] has said that they may be.
pub(crate) fn is_hit(words: u64) -> bool {
    let epoch = hooks::epoch();
    tls::epoch() == epoch || guard::enter_epoch(epoch, words)
}

/// Places a block if there is one to be placed.
#[inline(always)]
fn claimed(place: impl FnOnce() -> Born) -> Born {
    let claim = Claim::new();
    let born = place();
    match born {
        Born::Sample(_) => claim.keep(),
        Born::NoRoom | Born::Pass => drop(claim),
    }
    born
}
