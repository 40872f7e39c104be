//! The beginning and the end of sampling, in a machine that is set up. \[UNSAFE\]

use lifetrace_agent::sampler::Rate;
use lifetrace_transport::segment::Settings;

use crate::collector::Keys;
use crate::vm::{Vm, event};
use crate::{countdown, entry, objects, state, terms};

/// What the recorder wants; none if there is no session.
pub(crate) fn settings() -> Option<Settings> {
    Some(*entry::enter()?.session().header.settings())
}

/// At which rate objects are to be sampled; none if they are not.
pub(crate) fn rate(settings: &Settings) -> Option<Rate> {
    settings.sources.of(terms::NAME).map(|source| Rate::per_word(source.rate))
}

/// Begins, for the first time or once more.
///
/// # Safety
/// The machine is set up, and its lock is the caller's, outside of hooks.
pub(crate) unsafe fn begin(vm: &'static Vm, rate: Rate, seed: u64) {
    // SAFETY: by contract.
    unsafe {
        match state::get() {
            Some(state) => state.set_rate(rate, seed),
            None => {
                let keys = Keys::of(vm);
                state::begin(vm, keys, rate, seed);
                vm.prepare();
                vm.take_part(&objects::PARTICIPANT);
            }
        }
        if let (Some(state), Some(mut entered)) = (state::get(), entry::enter()) {
            // What has been counted before the first object can be hit.
            state.enter_session(&mut entered);
        }
        remove_hooks(vm);
        vm.add_hook(objects::made, event::NEWOBJ);
        vm.add_hook(objects::marked, event::GC_END_MARK);
    }
}

/// Ends: from now on objects cost nothing.
///
/// # Safety
/// As [`begin`].
pub(crate) unsafe fn end(vm: &Vm) {
    // SAFETY: by contract.
    unsafe {
        remove_hooks(vm);
        if let Some(state) = state::get() {
            // From now on nobody looks at them in collections.
            state.samples.clear();
        }
    }
    countdown::set(u64::MAX);
}

/// Those of an earlier beginning, or of a process that this one was forked from.
///
/// # Safety
/// As [`begin`].
unsafe fn remove_hooks(vm: &Vm) {
    // SAFETY: by contract; it is no matter if they are not there.
    unsafe {
        vm.remove_hook(objects::made);
        vm.remove_hook(objects::marked);
    }
}
