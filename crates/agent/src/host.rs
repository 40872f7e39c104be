//! What the agents of managed runtimes ask of the library that they are part of. \[UNSAFE\]

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::guard::Entered;
use crate::phase::Start;

/// The services of that library.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Starts the session of this process.
    pub begin_session: fn(Start),
    /// Reports to the recorder which object file is mapped at an address.
    pub announce_module: fn(&mut Entered, u64),
    /// Says that the program is about to end, and has the recorder look through its memory before.
    pub say_farewell: fn(),
}

static BEGIN_SESSION: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static ANNOUNCE_MODULE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static SAY_FAREWELL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Sets the services of this process.
pub fn set(host: Host) {
    BEGIN_SESSION.store(host.begin_session as *mut c_void, Ordering::Relaxed);
    ANNOUNCE_MODULE.store(host.announce_module as *mut c_void, Ordering::Relaxed);
    SAY_FAREWELL.store(host.say_farewell as *mut c_void, Ordering::Relaxed);
}

/// Starts the session of this process; does nothing before the services are set.
pub fn begin_session(start: Start) {
    let function = BEGIN_SESSION.load(Ordering::Relaxed);
    if !function.is_null() {
        // SAFETY: `set` stored a function of this type.
        unsafe { core::mem::transmute::<*mut c_void, fn(Start)>(function)(start) }
    }
}

/// Reports to the recorder which object file is mapped at `address`; does nothing before the services are set.
pub fn announce_module(at: &mut Entered, address: u64) {
    let function = ANNOUNCE_MODULE.load(Ordering::Relaxed);
    if !function.is_null() {
        // SAFETY: `set` stored a function of this type.
        unsafe { core::mem::transmute::<*mut c_void, fn(&mut Entered, u64)>(function)(at, address) }
    }
}

/// Says that the program is about to end, while its runtime still has what it holds; does nothing before the services are
/// set.
pub fn say_farewell() {
    let function = SAY_FAREWELL.load(Ordering::Relaxed);
    if !function.is_null() {
        // SAFETY: `set` stored a function of this type.
        unsafe { core::mem::transmute::<*mut c_void, fn()>(function)() }
    }
}
