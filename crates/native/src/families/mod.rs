//! Hears the functions of allocators that are called past malloc and free. \[UNSAFE\]
//!
//! Each patched function has a *slot*, which says where its first instructions have gone, and a hook that is
//! compiled for this slot. Slots are given once, while the process has a single thread, and never change.
//!
//! # One allocation, one hook
//!
//! A function may be built on others that are patched: realloc on malloc and free. While such a function
//! works, the thread's countdown is put aside, so that nothing is counted twice; that is the whole mark. Only
//! functions that give fresh blocks and are built on nothing, malloc above all, do without, and end in a jump.
//! An operator new that throws must not leave a mark behind: its block is counted when it is there, unless the
//! countdown has moved meanwhile.

pub(crate) mod hooks;

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use alloc::vec::Vec;
use lifetrace_agent::tls;
use lifetrace_transport::patch::{Patch, Shape};

use crate::blocks::Allocator;

/// A function with so many arguments in registers. What takes fewer does not mind the others.
pub(crate) type Function = unsafe extern "C" fn(usize, usize, usize, usize) -> usize;

/// Most slots of a shape.
const MOST: usize = 32;

/// A patched function.
#[derive(Debug)]
pub struct Slot {
    /// Its first instructions, which go on in the rest of it.
    next: AtomicPtr<c_void>,
    /// What tells the size of this allocator's blocks; 0 if nothing does.
    usable_size: AtomicUsize,
    hook: AtomicPtr<c_void>,
}

static SLOTS: [[Slot; MOST]; Shape::ALL.len()] =
    [const { [const { Slot::new() }; MOST] }; Shape::ALL.len()];

impl Slot {
    const fn new() -> Slot {
        let none = AtomicPtr::new(core::ptr::null_mut());
        let hook = AtomicPtr::new(core::ptr::null_mut());
        Slot { next: none, usable_size: AtomicUsize::new(0), hook }
    }

    /// The address of its hook.
    pub(crate) fn hook(&self) -> usize {
        self.hook.load(Ordering::Relaxed) as usize
    }

    /// Says where the function goes on.
    pub(crate) fn lead_to(&self, next: usize, usable_size: usize) {
        self.next.store(next as *mut c_void, Ordering::Relaxed);
        self.usable_size.store(usable_size, Ordering::Relaxed);
    }

    /// The function itself.
    #[inline(always)]
    fn next(&self) -> Function {
        // SAFETY: a hook runs only when its slot leads to a copy of a function's beginning; it was stored
        // while the process had a single thread, so a plain load will do.
        unsafe { core::mem::transmute(*self.next.as_ptr()) }
    }
}

impl Allocator for Slot {
    fn tells_usable_size(&self) -> bool {
        self.usable_size.load(Ordering::Relaxed) != 0
    }

    /// What the allocator allocates to answer is not the program's.
    fn usable_size(&self, block: *mut u8) -> usize {
        let function = self.usable_size.load(Ordering::Relaxed);
        if function == 0 {
            return 0;
        }
        // SAFETY: the recorder has found a function of this kind by its name, in the allocator that the
        // block is of.
        let function: unsafe extern "C" fn(*mut u8) -> usize =
            unsafe { core::mem::transmute(function) };
        // SAFETY: as above.
        tls::aside(|| unsafe { function(block) })
    }
}

/// A slot with a hook for each patch; `None` if there are not as many. To be called once.
pub(crate) fn assign(list: &[Patch]) -> Option<Vec<&'static Slot>> {
    let mut given = [0; Shape::ALL.len()];
    let slots = list.iter().map(|patch| {
        let count = &mut given[patch.shape as usize];
        let index = *count;
        *count += 1;
        let slot = SLOTS[patch.shape as usize].get(index)?;
        let hook = hooks::of(patch.shape, patch.nests, index)?;
        slot.hook.store(hook.cast_mut().cast(), Ordering::Relaxed);
        Some(slot)
    });
    slots.collect()
}
