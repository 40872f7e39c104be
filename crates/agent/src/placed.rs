//! When nobody has to know sampled blocks any more, in a program whose sessions come and go.
//!
//! As long as there is none, and none may come, a program's calls of free can lead past us. Whoever is to
//! place a block says so first, and looks then whether the process is recorded; whoever ends a recording
//! does so first, and looks then for blocks. So one of the two sees the other. And between the two looks
//! of the second no recording may begin: one that is to begin is *wanted* before it does.
//!
//! The counts are generic: `tests/loom.rs` has a model checker try every order in which threads may come.

use core::sync::atomic::{AtomicUsize, Ordering, fence};

/// An atomic count.
pub trait Count {
    /// Now; orders nothing.
    fn get(&self) -> usize;
    /// Orders nothing.
    fn set(&self, value: usize);
    /// Counts one more; orders nothing.
    fn add(&self);
    /// Counts one less, and gives what there were; acquires and releases.
    fn take(&self) -> usize;
    /// A sequentially consistent fence.
    fn fence();
}

impl Count for AtomicUsize {
    #[inline]
    fn get(&self) -> usize {
        self.load(Ordering::Relaxed)
    }

    fn set(&self, value: usize) {
        self.store(value, Ordering::Relaxed);
    }

    fn add(&self) {
        self.fetch_add(1, Ordering::Relaxed);
    }

    fn take(&self) -> usize {
        self.fetch_sub(1, Ordering::AcqRel)
    }

    fn fence() {
        fence(Ordering::SeqCst);
    }
}

/// Sampled blocks, and whether there may be more; see the module.
#[derive(Debug)]
pub struct Placed<C = AtomicUsize> {
    /// Blocks that there are, and threads that may be placing one.
    blocks: C,
    /// 1 as long as there is a recording, or is to be one.
    wanted: C,
}

impl<C: Count> Placed<C> {
    /// None, from two counts that are 0.
    pub const fn new(blocks: C, wanted: C) -> Self {
        Placed { blocks, wanted }
    }

    /// A recording is to begin. To be called under the lock under which [`may_be_forgotten`] is asked, and
    /// before the phase changes.
    ///
    /// [`may_be_forgotten`]: Self::may_be_forgotten
    pub fn want(&self) {
        self.wanted.set(1);
    }

    /// The recording has ended, or did not begin.
    pub fn want_no_more(&self) {
        self.wanted.set(0);
        C::fence();
    }

    /// A block may be placed. To be called before the phase is looked at.
    pub fn claim(&self) {
        self.blocks.add();
        C::fence();
    }

    /// A block is gone, or was not placed after all. Whether to ask, under the lock, if blocks
    /// [may be forgotten](Self::may_be_forgotten).
    pub fn release(&self) -> bool {
        self.blocks.take() == 1 && self.wanted.get() == 0
    }

    /// Whether there is no block, and none can come as long as the lock is held.
    pub fn may_be_forgotten(&self) -> bool {
        self.wanted.get() == 0 && self.blocks.get() == 0
    }
}
