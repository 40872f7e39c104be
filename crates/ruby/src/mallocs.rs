//! Ruby's frames for malloc's backtraces. \[UNSAFE\]
//!
//! At a sample of malloc's on a thread that has the machine's lock, and does not collect, its frames are sent as what
//! the thread is at. They are read without making anything, and no malloc comes in the middle of a frame's making. On
//! other threads there are none.

use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::context;
use lifetrace_agent::guard::Entered;
use lifetrace_transport::message::{Body, Frames};

use crate::{serving, snapshot, stacks, state, wish};

/// Whether it is known which threads have ended.
static HAVE_FRAMES: AtomicBool = AtomicBool::new(false);

/// It can be known which threads execute something.
pub(crate) fn have_frames() {
    HAVE_FRAMES.store(true, Ordering::Relaxed);
}

/// From now on, as soon as threads [have frames](have_frames).
pub(crate) fn begin() {
    context::provide(send);
}

fn send(entered: &mut Entered) {
    if serving::is_awaited(entered.session()) {
        wish::ask_from_here();
    }
    // SAFETY: no hook of ours is under way, as the agent was not entered.
    let frames = unsafe { frames(entered) };
    entered.send(Body::Context { frames: Frames::Words(frames) });
}

/// # Safety
/// No hook of ours is under way on this thread.
unsafe fn frames<'a>(entered: &mut Entered) -> &'a [u64] {
    // SAFETY: a function of the machine's that reads whether this thread has its lock; then the state is ours.
    unsafe {
        if !HAVE_FRAMES.load(Ordering::Relaxed) || !serving::serves(entered.session()) {
            return &[];
        }
        if entered.has_left_runtime || !state::vm().is_some_and(|vm| vm.is_at_ruby()) {
            return &[];
        }
        let Some(state) = state::get() else { return &[] };
        snapshot::look(state.vm);
        state.enter_session(entered);
        stacks::words(state, entered).unwrap_or(&[])
    }
}
