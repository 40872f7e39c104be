//! Python's frames for malloc's backtraces. \[UNSAFE\]
//!
//! At a sample of malloc's the thread's Python frames are read, as far as it has any: whether it runs Python or a function in
//! C that has let others run meanwhile, its frames are its own, and what they refer to is alive.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, Ordering};

use lifetrace_agent::guard::Entered;
use lifetrace_agent::{context, lock};
use lifetrace_transport::message::{Body, Frames as Words};

use crate::frames::Frames;
use crate::interpreter::Interpreter;
use crate::published::Unknown;
use crate::{small, terms};

/// What has been found in the process.
pub(crate) type Found = Result<Interpreter, Unknown>;

static FOUND: AtomicPtr<Found> = AtomicPtr::new(core::ptr::null_mut());

struct State {
    frames: Frames,
    /// The session that has been told which Python it is.
    told: Option<u32>,
}

struct Shared(UnsafeCell<State>);

// SAFETY: touched under `lock::CONTEXT` only.
unsafe impl Sync for Shared {}

static STATE: Shared = Shared(UnsafeCell::new(State { frames: Frames::new(), told: None }));

/// From now on samples have frames; or the recorder is told why they have none.
pub(crate) fn begin(found: &'static Found) {
    FOUND.store(core::ptr::from_ref(found).cast_mut(), Ordering::Release);
    context::provide(send);
}

fn send(entered: &mut Entered) {
    // SAFETY: null, or what `begin` has stored, which stays.
    let Some(found) = (unsafe { FOUND.load(Ordering::Acquire).as_ref() }) else { return };
    let Some(_held) = lock::CONTEXT.acquire(entered.session().patience()) else {
        entered.send(Body::Context { frames: Words::Words(&[]) });
        return;
    };
    // SAFETY: under the lock.
    let state = unsafe { &mut *STATE.0.get() };
    let session = entered.session().number;
    if state.told != Some(session) {
        state.frames.begin_anew();
        state.told = introduce(entered, found).then_some(session);
    }
    if let Ok(python) = found {
        // SAFETY: the provider is called at a sample, behind its backtrace.
        let frames = unsafe { state.frames.of_thread(python, entered) };
        entered.send(Body::Context { frames: Words::Words(frames) });
    }
}

fn introduce(entered: &mut Entered, found: &Found) -> bool {
    entered.send(match found {
        Ok(python) => Body::Runtime {
            name: terms::NAME,
            blocks_are_mallocs: small::are_heard(),
            version: python.version,
        },
        Err(Unknown::Version) => Body::Notice { code: terms::UNKNOWN },
        Err(Unknown::FreeThreaded) => Body::Notice { code: terms::FREE_THREADED },
    })
}
