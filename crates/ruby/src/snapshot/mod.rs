//! A snapshot of the machine's heap, taken by a forked child. \[UNSAFE\]
//!
//! The machine tells for itself what refers to what: of its roots, and of each object ([`space`]). The child walks from
//! the roots, and then tells of what no root holds, too ([`telling`]): as `ObjectSpace.dump_all` does. Which pages there
//! are is asked before the fork, as the machine asks malloc for room then; nothing that the child does allocates.
//!
//! # When
//!
//! At a safe point, in a job that the machine does when it comes to one: a thread has the machine's lock then, no object
//! is half made, and no collection marks or sweeps at that moment (one may be under way by steps). The job is asked for
//! where a wish is seen: every so many objects, at collections, at samples of malloc's, and where the program is woken
//! ([`wake`]).

mod name;
mod pages;
mod space;
mod telling;
pub(crate) mod wake;

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lifetrace_agent::snapshot::walk::Walk;
use lifetrace_agent::snapshot::{self, is_wanted};
use lifetrace_agent::tls;
use lifetrace_transport::message::Body;
use lifetrace_transport::snapshot::{Answer, Standing, Taken};

use crate::entry::enter;
use crate::state;
use crate::terms;
use crate::vm::Vm;
use pages::Pages;
use space::Space;

/// A snapshot is wanted for the sake of collections.
static IS_DUE: AtomicBool = AtomicBool::new(false);

/// There are several ractors, which run at the same time: there is no place where the heap is whole.
static HAS_RACTORS: AtomicBool = AtomicBool::new(false);

/// Major collections when one was taken last for their sake.
static COLLECTIONS: AtomicU64 = AtomicU64::new(0);

/// Has the machine's next safe point taken for a snapshot, if the recorder waits for one: costs a few loads. Makes nothing,
/// so it may be called in hooks.
///
/// # Safety
/// The machine's lock is the caller's.
#[inline]
pub(crate) unsafe fn look(vm: &Vm) {
    if is_wanted() {
        // SAFETY: by contract.
        unsafe { vm.postpone(job) }
    }
}

/// As [`look`], where so many major collections have been, the last just now.
///
/// # Safety
/// As [`look`].
pub(crate) unsafe fn after_collection(vm: &Vm, majors: u64) {
    if let Some((every, _)) = snapshot::standing().and_then(Standing::after_collections)
        && majors.wrapping_sub(COLLECTIONS.load(Ordering::Relaxed)) >= every
    {
        COLLECTIONS.store(majors, Ordering::Relaxed);
        IS_DUE.store(true, Ordering::Relaxed);
        // SAFETY: by contract.
        unsafe { vm.postpone(job) }
    }
    // SAFETY: by contract.
    unsafe { look(vm) }
}

/// From now on no snapshot is taken, as there are several ractors.
pub(crate) fn forbid() {
    HAS_RACTORS.store(true, Ordering::Relaxed);
}

/// The machine has come to a safe point.
///
/// # Safety
/// Called by the machine, with its lock.
unsafe extern "C" fn job(_: *mut c_void) {
    // SAFETY: by contract.
    unsafe { now() }
}

/// Takes what snapshots are waited for. Also for a method that is called by the program.
///
/// # Safety
/// The machine's lock is the caller's, outside of hooks and collections, and there is no reference to the state.
pub(crate) unsafe fn now() {
    // A forked child that has not looked for the recorder yet does so first.
    if enter().is_none() {
        return;
    }
    let unasked = snapshot::standing().and_then(Standing::after_collections);
    if let Some((_, taken)) = unasked.filter(|_| IS_DUE.swap(false, Ordering::Relaxed)) {
        // SAFETY: by contract.
        unsafe { take(Some(taken)) }
    }
    if is_wanted() {
        // SAFETY: by contract.
        unsafe { take(None) }
    }
}

/// Takes the snapshot that is wanted at the program's end, if it is: to be called in its end procedures.
///
/// # Safety
/// As [`now`].
pub(crate) unsafe fn at_exit() {
    let is_recorded = enter().is_some();
    let taken = snapshot::standing().and_then(Standing::at_exit);
    if let Some(taken) = taken.filter(|_| is_recorded) {
        // SAFETY: by contract.
        unsafe { take(Some(taken)) }
    }
}

/// One that was not asked for, or the one that is waited for.
///
/// # Safety
/// As [`now`].
unsafe fn take(unasked: Option<Taken>) {
    let (answer, code) = if HAS_RACTORS.load(Ordering::Relaxed) {
        (Answer::Parallel, terms::SNAPSHOT_WITH_RACTORS)
    } else {
        // SAFETY: by contract; the reference ends at once.
        let Some(vm) = (unsafe { state::get() }).map(|state| state.vm) else { return };
        // SAFETY: by contract.
        let found = Space::find(vm).and_then(|space| Some((unsafe { Pages::of(&space) }?, space)));
        if let Some((pages, space)) = found {
            // SAFETY: by contract.
            return unsafe { fork(unasked, &space, pages) };
        }
        (Answer::UnknownRuntime, terms::NO_SNAPSHOT_WALK)
    };
    match unasked {
        Some(_) => tell_unasked(code),
        None => snapshot::refuse(answer),
    }
}

/// Tells, once, that what was wanted without being asked for could not be taken.
fn tell_unasked(code: &'static [u8]) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if !IS_TOLD.swap(true, Ordering::Relaxed)
        && let Some(mut entered) = enter()
    {
        entered.send(Body::Notice { code });
    }
}

/// # Safety
/// As [`now`].
unsafe fn fork(unasked: Option<Taken>, space: &Space, pages: Pages) {
    // SAFETY: by contract; from here on the machine does nothing in this process.
    let Some(state) = (unsafe { state::get() }) else { return pages.give_back() };
    let samples = &state.samples;
    let tell = |walk: &mut Walk<'_>| {
        // What the machine's functions may allocate in the child is none of the program's.
        // SAFETY: by contract, in the child.
        tls::aside(|| unsafe { telling::tell(space, &pages, samples, walk) });
    };
    // SAFETY: what the child does takes no lock of the program's, and allocates nothing but where the functions of C
    // extensions' types do.
    unsafe {
        match unasked {
            Some(taken) if !snapshot::take_unasked(taken, tell) => {
                tell_unasked(terms::NO_SNAPSHOT_CHILD);
            }
            Some(_) => {}
            None => snapshot::take(tell),
        }
    }
    pages.give_back();
}
