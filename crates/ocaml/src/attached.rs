//! Whether the process was attached to, and what is looked at then where its threads come to a safe place. \[UNSAFE\]

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::runtime::Runtime;

type Look = fn(&'static Runtime);

/// A [`Look`]; null in a process that was not attached to.
static LOOK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// A [`Look`], at the end of a collection in OCaml 5; null where there is none.
static CALL: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// The process has been attached to.
pub(crate) fn look_by(look: Look) {
    LOOK.store(look as *mut (), Ordering::Release);
}

/// In OCaml 5, domains are to be asked so to come to a safe place.
pub(crate) fn call_by(call: Look) {
    CALL.store(call as *mut (), Ordering::Release);
}

/// Whether the process was attached to.
pub(crate) fn is_attached() -> bool {
    !LOOK.load(Ordering::Relaxed).is_null()
}

/// Begins, or ends, if that is to be: to be called with the runtime's lock, where the stack and the heap are as they are for
/// a collection.
#[inline]
pub(crate) fn look(runtime: &'static Runtime) {
    run(&LOOK, runtime);
}

/// Has the domain come to such a place soon, if something is to be done: to be called in OCaml 5 at the end of a collection
/// of its young heap.
#[inline]
pub(crate) fn call(runtime: &'static Runtime) {
    run(&CALL, runtime);
}

#[inline]
fn run(look: &AtomicPtr<()>, runtime: &'static Runtime) {
    let look = look.load(Ordering::Acquire);
    if !look.is_null() {
        // SAFETY: a function of this type was stored.
        unsafe { core::mem::transmute::<*mut (), Look>(look)(runtime) }
    }
}
