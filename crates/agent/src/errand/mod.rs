//! A thread that waits in the kernel, sent here by the recorder to do something for it. \[UNSAFE\]
//!
//! The thread arrives on a stack of ours, with all its registers as they were but two, and all signals blocked. It keeps
//! them, does what is to be done, and goes back to make its system call again. It does not go on before: whatever it waits
//! for, it finds there afterwards.
//!
//! A signal that comes meanwhile waits until the end. If the program handles it, the call fails as it would have failed
//! without us; what comes within the last few instructions finds the thread about to call, as it may without us as well.

#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use lifetrace_transport::errand::{Frame, NUDGE, Outcome, Way, Word};

use crate::{session, sys};

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "elsewhere.rs")]
mod arch;

/// As much as a runtime may need to stop its threads or domains, and the agent to fork.
const STACK_BYTES: usize = 256 << 10;
const PAGE: usize = 4096;

static STACK: AtomicUsize = AtomicUsize::new(0);
static WORK: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Where a thread leaves word that it has gone if its session has.
static NOBODY: AtomicU32 = AtomicU32::new(0);

/// Tells the recorder of this session where threads can be sent, to do this `work`, and what nudges a program that runs: to
/// be called often, as a forked child has another session. Nothing happens where the processor or the system does not allow it.
#[inline]
pub fn offer(work: fn() -> Outcome, nudge: impl FnOnce() -> Option<[Word; NUDGE]>) {
    if session::current().is_some_and(|session| !session.header.errand().is_offered()) {
        offer_first(work, nudge());
    }
}

#[cold]
fn offer_first(work: fn() -> Outcome, nudge: Option<[Word; NUDGE]>) {
    let (Some(session), Some(code)) = (session::current(), arch::code()) else { return };
    if let Some(words) = nudge {
        session.header.errand().offer_nudge(words);
    }
    let Some(frame) = frame() else { return };
    WORK.store(work as *mut c_void, Ordering::Release);
    session.header.errand().offer(Way { code, frame });
}

/// At the top of the stack.
fn frame() -> Option<u64> {
    const ROOM: usize = 64;
    const _: () = assert!(size_of::<Frame>() <= ROOM);
    let mut start = STACK.load(Ordering::Acquire);
    if start == 0 {
        let fresh = sys::map(STACK_BYTES)?;
        // SAFETY: the lowest page of a fresh mapping, which nobody uses.
        unsafe { sys::protect(fresh, PAGE, libc::PROT_NONE) };
        start = fresh.as_ptr() as usize;
        if let Err(other) = STACK.compare_exchange(0, start, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: nobody knows it.
            unsafe { sys::unmap(fresh, STACK_BYTES) };
            start = other;
        }
    }
    Some((start + STACK_BYTES - ROOM) as u64)
}

/// # Safety
/// Called by [`arch`]'s code alone, on our stack, with the frame that the recorder has written.
unsafe extern "C" fn arrive(frame: *mut Frame) {
    // SAFETY: by contract; nobody else uses it before the flag is cleared.
    let frame = unsafe { &mut *frame };
    let errno = sys::errno();
    let session = session::current();
    let outcome = work();
    if let Some(session) = session {
        session.header.errand().end(outcome);
    }
    let flag = session.map_or(&raw const NOBODY, |session| session.header.errand().flag());
    frame.flag = flag as u64;
    if sys::will_be_handled(frame.blocked, frame.fails_if_handled != 0) {
        arch::fail_as_interrupted(frame);
    }
    sys::set_errno(errno);
    sys::block_these_signals(frame.blocked);
}

fn work() -> Outcome {
    let work = WORK.load(Ordering::Acquire);
    if work.is_null() {
        return Outcome::Within;
    }
    if crate::room::is_sandbox_expected() {
        return Outcome::Sandbox;
    }
    // SAFETY: `offer` stored a function of this type.
    unsafe { core::mem::transmute::<*mut c_void, fn() -> Outcome>(work)() }
}
