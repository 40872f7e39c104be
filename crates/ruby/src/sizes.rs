//! What sampled objects take now, with all that belongs to them. \[UNSAFE\]
//!
//! The machine's lock is kept for a millisecond at most, and the recorder's ring left half empty: whoever wants all
//! sizes comes again, and lets go of the lock meanwhile.

use lifetrace_agent::guard::Entered;
use lifetrace_agent::sys;
use lifetrace_transport::message::{Body, SampleId};

use crate::entry::enter;
use crate::samples::Living;
use crate::vm::{Value, Vm};
use crate::{countdown, state};

/// Nanoseconds for which the lock is kept.
const LONGEST: u64 = 1_000_000;

/// Objects between two looks at the clock.
const BATCH: usize = 64;

/// Reports what objects take, from a sample on and up to another one, where that is not just their slots; the sample to
/// go on from, or none if all have been asked. Without an end a program that makes objects faster would never be done.
///
/// # Safety
/// The machine's lock is the caller's, outside of hooks, and there is no reference to the state.
pub(crate) unsafe fn report(mut from: u64, to: u64) -> Option<u64> {
    let end = sys::now().0 + LONGEST;
    loop {
        let mut batch = [Living::default(); BATCH];
        // SAFETY: by contract; the reference ends at once.
        let (vm, count) =
            unsafe { state::get() }.map(|it| (it.vm, it.samples.from(from, &mut batch)))?;
        let batch = &batch[..count];
        from = batch.last()?.sample + 1;
        if batch[0].sample >= to {
            return None;
        }
        // SAFETY: objects that no collection has found dead, and that this stack keeps alive.
        unsafe { report_batch(vm, batch) };
        if sys::now().0 >= end || !enter()?.has_ring_room() {
            return Some(from);
        }
    }
}

/// Reports what a dead object takes, where that is not just its slot.
///
/// # Safety
/// As [`Vm::memory_at_death`].
pub(crate) unsafe fn report_at_death(vm: &Vm, object: Value, sample: SampleId, to: &mut Entered) {
    // SAFETY: by contract.
    let (slot, all) = unsafe { (vm.slot_size(object), vm.memory_at_death(object)) };
    if let Some(size) = all.filter(|&size| size != slot) {
        to.send(Body::Measured { id: sample, size });
    }
}

/// Reports what all objects take that are left in the end.
///
/// # Safety
/// As [`report`].
pub(crate) unsafe fn report_last() {
    let mut from = Some(0);
    while let Some(next) = from {
        // SAFETY: by contract.
        from = unsafe { report(next, u64::MAX) };
    }
}

/// # Safety
/// As [`report`]; the objects are alive.
unsafe fn report_batch(vm: &Vm, batch: &[Living]) {
    let mut sizes = [(0, 0); BATCH];
    // What an extension makes here is not the program's.
    countdown::aside(|| {
        for (living, place) in batch.iter().zip(&mut sizes) {
            // SAFETY: by contract.
            let (slot, all) = unsafe { (vm.slot_size(living.object), vm.memory_of(living.object)) };
            *place = (slot, all.unwrap_or(slot));
        }
    });
    for (living, (slot, size)) in batch.iter().zip(sizes) {
        let is_grown = size != slot;
        if !is_grown && !living.is_grown {
            continue;
        }
        // SAFETY: by contract; the reference ends at once.
        if let Some(state) = unsafe { state::get() } {
            state.samples.set_grown(living.sample, is_grown);
        }
        if let Some(mut entered) = enter() {
            entered.send(Body::Measured { id: SampleId(living.sample), size });
        }
    }
}
