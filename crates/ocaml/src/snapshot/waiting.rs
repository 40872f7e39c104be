//! A snapshot of a program that waits: one of its threads takes it, sent by the recorder. \[UNSAFE\]
//!
//! Before C code waits in the kernel it leaves the runtime to others (`caml_enter_blocking_section`), and whoever collects
//! then finds all that the thread has, as it does after this. So what such a thread is sent to do may do what C code does
//! that takes the runtime again for a moment: it has the lock, its own stack is known, and the heap is whole. The
//! program's signal handlers, which the runtime would call there, are left to the program.
//!
//! The runtime calls two hooks there; ours note which threads are outside. The library of threads puts its own in their
//! place when it starts: then ours are put before those as soon as that is seen. Threads that have left the runtime until
//! then are not known.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use lifetrace_agent::errand;
use lifetrace_agent::tls::{self, Whereabouts};
use lifetrace_transport::errand::Outcome;

use super::{Why, is_wanted, take, take_of_all_domains};
use crate::attached;
use crate::runtime::{self, BlockingHooks, Hook, Runtime};

/// What was in the hooks' places.
static BEFORE: [AtomicPtr<c_void>; 2] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 2];

const ENTER: usize = 0;
const LEAVE: usize = 1;

/// How often it is tried to stop all domains, while somebody else does.
const TRIES: usize = 100;

/// Has threads noted that leave the runtime to others, if they are not: costs a few loads, so it may be called often.
/// To be called where the runtime's lock is held.
#[inline]
pub(crate) fn follow(runtime: &Runtime) {
    if let Some(hooks) = runtime.blocking_hooks
        && !are_ours(&hooks)
    {
        put(&hooks);
    }
    errand::offer(take_if_outside, || runtime.slice_words());
}

fn are_ours(hooks: &BlockingHooks) -> bool {
    hooks.enter.load(Ordering::Relaxed) == left as *mut c_void
        && hooks.leave.load(Ordering::Relaxed) == coming_back as *mut c_void
}

#[cold]
fn put(hooks: &BlockingHooks) {
    let ours = [left as *mut c_void, coming_back as *mut c_void];
    for (index, place) in [hooks.enter, hooks.leave].into_iter().enumerate() {
        put_one(place, &BEFORE[index], ours[index]);
    }
}

/// The library of threads may just be about to put its own there.
fn put_one(place: &AtomicPtr<c_void>, before: &AtomicPtr<c_void>, ours: *mut c_void) {
    let mut now = place.load(Ordering::Acquire);
    while now != ours {
        before.store(now, Ordering::Release);
        match place.compare_exchange(now, ours, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return,
            Err(other) => now = other,
        }
    }
}

/// The runtime is about to be left to others.
unsafe extern "C" fn left() {
    call(ENTER);
    tls::set_whereabouts(Whereabouts::Outside);
    if let Some(runtime) = runtime::get() {
        errand::offer(take_if_outside, || runtime.slice_words());
    }
}

/// It is about to be taken again.
unsafe extern "C" fn coming_back() {
    tls::set_whereabouts(Whereabouts::Inside);
    call(LEAVE);
    if let Some(runtime) = runtime::get() {
        attached::look(runtime);
    }
}

fn call(index: usize) {
    let before = BEFORE[index].load(Ordering::Acquire);
    if !before.is_null() {
        // SAFETY: a hook of this type, which the runtime would have called.
        unsafe { core::mem::transmute::<*mut c_void, Hook>(before)() };
    }
}

/// What a thread does that was sent.
fn take_if_outside() -> Outcome {
    let Some(runtime) = runtime::get() else { return Outcome::Within };
    let Some(hooks) = runtime.blocking_hooks else { return Outcome::Unknown };
    if !are_ours(&hooks) {
        put(&hooks);
        return Outcome::Unknown;
    }
    match tls::whereabouts() {
        Whereabouts::Outside => {
            call(LEAVE);
            take_here(runtime);
            call(ENTER);
            Outcome::Done
        }
        Whereabouts::Inside => Outcome::Within,
        Whereabouts::Unknown => Outcome::Unknown,
    }
}

fn take_here(runtime: &Runtime) {
    if runtime.version.has_fibers() {
        (0..TRIES).take_while(|_| is_wanted()).for_each(|_| {
            take_of_all_domains(Why::Asked, runtime);
        });
    } else if is_wanted() {
        // SAFETY: the thread has the runtime's lock, and its stack is as the runtime wants it for a collection.
        unsafe { take(Why::Asked, runtime.version, runtime.symbol, &[]) };
    }
}
