//! Ruby's frames for malloc's backtraces. \[UNSAFE\]
//!
//! At a sample of malloc's on a thread that has the machine's lock, and does not collect, its frames are sent as what
//! the thread is at. They are read without making anything, and no malloc comes in the middle of a frame's making. On
//! other threads there are none.

use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::context;
use lifetrace_agent::guard::Entered;
use lifetrace_transport::message::{Body, Frames};

use crate::{stacks, state};

/// Whether the machine is set up, and has not ended.
static IS_UP: AtomicBool = AtomicBool::new(false);

/// From now on.
pub(crate) fn begin() {
    IS_UP.store(true, Ordering::Release);
    context::provide(send);
}

/// The machine is about to end.
pub(crate) fn end() {
    IS_UP.store(false, Ordering::Release);
}

fn send(entered: &mut Entered) {
    // SAFETY: the machine is up, and the lock is asked for first; no hook of ours is under way, as the agent was not
    // entered.
    let frames = unsafe { frames(entered) };
    entered.send(Body::Context { frames: Frames::Words(frames) });
}

/// # Safety
/// No hook of ours is under way on this thread.
unsafe fn frames<'a>(entered: &mut Entered) -> &'a [u64] {
    if !IS_UP.load(Ordering::Acquire) {
        return &[];
    }
    // SAFETY: a function of the machine's that reads whether this thread has its lock; then the state is ours.
    unsafe {
        let Some(vm) = state::vm().filter(|vm| vm.is_at_ruby()) else { return &[] };
        let Some(state) = state::get() else { return &[] };
        debug_assert!(core::ptr::eq(vm, state.vm));
        state.enter_session(entered);
        stacks::words(state, entered).unwrap_or(&[])
    }
}
