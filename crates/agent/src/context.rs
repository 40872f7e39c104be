//! What a thread is at in a managed runtime, for malloc's backtraces. \[UNSAFE\]
//!
//! A runtime's agent may provide that: it is asked at each sample of malloc's, and sends the frames that are to stand
//! outside of all others ([`Body::Context`](lifetrace_transport::message::Body)).

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::guard::Entered;

static PROVIDER: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Has `provider` asked from now on. It runs inside malloc: it must not wait, nor allocate by the program's allocator.
pub fn provide(provider: fn(&mut Entered)) {
    PROVIDER.store(provider as *mut c_void, Ordering::Release);
}

/// To be called at a sample of malloc's, before it is reported.
#[inline]
pub fn refresh(entered: &mut Entered) {
    let provider = PROVIDER.load(Ordering::Acquire);
    if !provider.is_null() {
        // SAFETY: `provide` stored a function of this type.
        unsafe { core::mem::transmute::<*mut c_void, fn(&mut Entered)>(provider)(entered) }
    }
}
