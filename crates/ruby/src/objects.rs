//! Objects that are hit, and what becomes of them. \[UNSAFE\]

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use lifetrace_agent::announcer::Announcer;
use lifetrace_agent::guard::{self, Entered};
use lifetrace_agent::tracker::{Allocation, Tracker};
use lifetrace_transport::message::{AllocationKind, Body, SourceKind};
use lifetrace_transport::segment::LostReason;

use crate::entry::enter;
use crate::numbers::Key;
use crate::samples::Fate;
use crate::state::State;
use crate::vm::{DataType, Value};
use crate::{class, countdown, kind, serving, sizes, snapshot, stacks, state, terms};

const TRACKER: Announcer = Announcer;

/// The index of the word in the argument of an event that has the object; 0 before it is known.
static OBJECT_AT: AtomicUsize = AtomicUsize::new(0);

/// By which we take part in collections.
pub(crate) static PARTICIPANT: DataType = DataType {
    name: c"lifetrace".as_ptr().cast::<c_char>(),
    mark: Some(mark),
    free: None,
    size: None,
    compact: Some(relocate),
    reserved: [core::ptr::null_mut(); 1],
    parent: core::ptr::null(),
    data: core::ptr::null_mut(),
    flags: 0,
};

/// An object has been made.
///
/// # Safety
/// The machine's event hook.
pub(crate) unsafe extern "C" fn made(_: Value, argument: *const c_void) {
    // SAFETY: by contract, with the machine's lock.
    if unsafe { may_be_ractor(argument) } {
        // SAFETY: as above.
        unsafe { leave_to_ractors(argument) }
    }
    if !countdown::pass() {
        // SAFETY: by contract, with the machine's lock.
        unsafe { hit(argument) }
    }
}

/// Whether the object of an event is of the type that ractors have.
///
/// # Safety
/// As [`made`].
#[inline(always)]
unsafe fn may_be_ractor(argument: *const c_void) -> bool {
    let at = OBJECT_AT.load(Ordering::Relaxed);
    if at == 0 {
        // SAFETY: by contract.
        unsafe { find_object(argument) };
        return true;
    }
    // SAFETY: the word that has the object in each such argument; an object begins with its flags.
    unsafe { kind::is_data(argument.cast::<Value>().add(at).read()) }
}

/// Finds out which word of an event's argument has the object, which spares a call at each.
///
/// # Safety
/// As [`made`].
#[cold]
unsafe fn find_object(argument: *const c_void) {
    /// Words of the argument in all versions, at least.
    const WORDS: usize = 8;
    // SAFETY: the event's hook has the lock, and there is no other reference.
    let Some(state) = (unsafe { state::get() }) else { return };
    // SAFETY: by contract.
    let (object, words) =
        unsafe { (state.vm.object_of(argument), argument.cast::<[Value; WORDS]>().read()) };
    let mut found = (1..WORDS).filter(|&at| words[at] == object);
    if let (Some(at), None) = (found.next(), found.next()) {
        OBJECT_AT.store(at, Ordering::Relaxed);
    }
}

/// Up to 3.2 a machine with any hook of ours does not survive a second ractor, and until 4.0 it does not call hooks in
/// others than the first. A ractor's object is made before its thread is: then we go.
///
/// # Safety
/// As [`made`].
unsafe fn leave_to_ractors(argument: *const c_void) {
    // SAFETY: the event's hook has the lock, and there is no other reference.
    let Some(state) = (unsafe { state::get() }) else { return };
    let vm = state.vm;
    // SAFETY: an event of an object, in its hook, with the machine's lock.
    unsafe {
        if !vm.classes.is_ractor(vm.object_of(argument)) {
            return;
        }
        go(state);
    }
    snapshot::forbid();
    if let Some(mut entered) = enter() {
        entered.send(Body::Notice { code: terms::RACTORS });
    }
}

/// Takes our hooks away, in one of them.
///
/// # Safety
/// As [`made`].
unsafe fn go(state: &mut State) {
    // SAFETY: by contract.
    unsafe {
        state.vm.remove_hook(made);
        state.vm.remove_hook(marked);
    }
    countdown::set(u64::MAX);
    // From now on nobody looks at them in collections.
    state.samples.clear();
}

/// # Safety
/// As [`made`].
#[cold]
#[inline(never)]
unsafe fn hit(argument: *const c_void) {
    // SAFETY: the event's hook has the lock, and there is no other reference.
    let Some(state) = (unsafe { state::get() }) else { return };
    if serving::is_over() {
        // SAFETY: by contract.
        return unsafe { go(state) };
    }
    // SAFETY: as above.
    unsafe { snapshot::look(state.vm) }
    if countdown::goes_on() {
        return;
    }
    countdown::set(state.rate.gap(&mut state.random));
    let Some(mut entered) = enter() else { return guard::count_lost_birth() };
    if !entered.session().header.paused() && serving::serves(entered.session()) {
        // SAFETY: by contract.
        unsafe { report(state, &mut entered, argument) }
    }
}

/// # Safety
/// As [`made`].
unsafe fn report(state: &mut State, entered: &mut Entered, argument: *const c_void) {
    state.enter_session(entered);
    // SAFETY: an event of an object, with the machine's lock.
    let (object, size, is_known) = unsafe {
        let object = state.vm.object_of(argument);
        let size = state.vm.slot_size(object);
        (object, size, stacks::take(state, entered, class::key(state.vm, object)))
    };
    if !is_known || !state.samples.reserve() {
        return entered.session().header.count_lost(LostReason::NoFrameRecord);
    }
    let (source, kind) = (SourceKind::Minor, AllocationKind::Plain);
    let allocation = Allocation { size, samples: 1, source, kind };
    if let Some(sample) = TRACKER.allocated(entered, &allocation) {
        state.samples.add(object, sample);
    }
}

/// A collection has marked all that is alive.
///
/// # Safety
/// The machine's event hook.
pub(crate) unsafe extern "C" fn marked(_: Value, _: *const c_void) {
    // SAFETY: the event's hook has the lock, and there is no other reference.
    let Some(state) = (unsafe { state::get() }) else { return };
    let entered = enter().filter(|entered| serving::serves(entered.session()));
    let Some(mut entered) = entered else {
        forget(state);
        if serving::is_over() {
            // SAFETY: by contract.
            unsafe { go(state) }
        }
        return;
    };
    state.enter_session(&mut entered);
    let State { vm, samples, numbers, capture, keys, .. } = state;
    // SAFETY: the machine's lock is the hook's.
    let are_old_alive = unsafe { keys.have_spared_old(vm) };
    samples.review(|object, was_old, sample| {
        if was_old && are_old_alive {
            return Fate::Unchanged;
        }
        // SAFETY: at that event, an object that was alive after the last one, or came since.
        if !unsafe { vm.is_marked(object) } {
            // SAFETY: likewise.
            unsafe { sizes::report_at_death(vm, object, sample, &mut entered) };
            TRACKER.freed(&mut entered, sample);
            return Fate::Dead;
        }
        // SAFETY: it is alive.
        if was_old || !unsafe { vm.is_old(object) } {
            return Fate::Unchanged;
        }
        TRACKER.promoted(&mut entered, sample);
        Fate::Promoted
    });
    // SAFETY: at that event; frames and classes are forgotten when they are dead, the machine's own types never.
    if numbers.retain(|object| object == 0 || unsafe { vm.is_marked(object) }) {
        capture.begin_era();
    }
    // SAFETY: the machine's lock is the hook's.
    unsafe {
        keys.report(vm, &mut entered);
        snapshot::after_collection(vm, keys.major_collections());
    }
}

/// Keeps alive what waits for its name, and the outermost frame, all where they are.
unsafe extern "C" fn mark(_: *mut c_void) {
    // SAFETY: a collection has the lock, and there is no other reference.
    let Some(state) = (unsafe { state::get() }) else { return };
    if let Some(frame) = state.capture.outermost() {
        // SAFETY: a collection marks; it has been kept alive since it was there.
        unsafe { state.vm.mark(frame) }
    }
    for key in state.unnamed.keys() {
        // SAFETY: a collection marks; the object is alive until it has its name.
        unsafe { state.vm.mark(Key(key).object()) }
    }
}

/// There is nobody to be told of the dead: in a forked child that is not recorded, say. Who is not looked at in a
/// collection may be anything after it.
fn forget(state: &mut State) {
    state.samples.review(|_, _, sample| {
        guard::count_lost_release(sample.0);
        Fate::Dead
    });
}

/// Objects have been moved.
unsafe extern "C" fn relocate(_: *mut c_void) {
    // SAFETY: a collection has the lock, and there is no other reference.
    let Some(state) = (unsafe { state::get() }) else { return };
    let State { vm, samples, numbers, capture, .. } = state;
    // SAFETY: references are updated.
    samples.relocate(|object| unsafe { vm.location(object) });
    numbers.forget();
    capture.begin_era();
}
