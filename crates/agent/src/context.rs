//! What a thread is at in a managed runtime, for malloc's backtraces. \[UNSAFE\]
//!
//! A runtime's agent may provide that: it is asked at each sample of malloc's, and sends the frames that are to stand
//! outside of all others ([`Body::Context`](lifetrace_transport::message::Body)). It may also say that the runtime has begun
//! to take down all that it has, before a program ends: what lived until then is what the program had.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::guard::Entered;

static PROVIDER: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static ENDING: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

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

/// Has `ending` asked from now on whether the runtime takes down what it has, as the program is over. It runs inside malloc.
pub fn provide_ending(ending: fn() -> bool) {
    ENDING.store(ending as *mut c_void, Ordering::Release);
}

/// To be called before the death of a sample of malloc's is reported: whether the program is over.
#[inline]
pub fn is_ending() -> bool {
    let ending = ENDING.load(Ordering::Acquire);
    // SAFETY: `provide_ending` stored a function of this type.
    !ending.is_null() && unsafe { core::mem::transmute::<*mut c_void, fn() -> bool>(ending)() }
}
