//! Whether the process was attached to, and what is looked at then where its threads come to a safe place. \[UNSAFE\]

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::runtime::Runtime;

type Look = fn(&'static Runtime);

/// A [`Look`]; null in a process that was not attached to.
static LOOK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// The process has been attached to.
pub(crate) fn look_by(look: Look) {
    LOOK.store(look as *mut (), Ordering::Release);
}

/// Whether the process was attached to.
pub(crate) fn is_attached() -> bool {
    !LOOK.load(Ordering::Relaxed).is_null()
}

/// Begins, or ends, if that is to be: to be called with the runtime's lock, where the stack and the heap are as they are for
/// a collection.
#[inline]
pub(crate) fn look(runtime: &'static Runtime) {
    let look = LOOK.load(Ordering::Acquire);
    if !look.is_null() {
        // SAFETY: `look_by` has stored a function of this type.
        unsafe { core::mem::transmute::<*mut (), Look>(look)(runtime) }
    }
}
