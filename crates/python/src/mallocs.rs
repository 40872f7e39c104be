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
use crate::small::{self, Hearing};
use crate::terms;

/// What has been found in the process.
pub(crate) type Found = Result<Interpreter, Unknown>;

static FOUND: AtomicPtr<Found> = AtomicPtr::new(core::ptr::null_mut());

struct State {
    frames: Frames,
    /// The session that has been told which Python it is, and how its small objects are heard.
    told: Option<(u32, Hearing)>,
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

/// Whether samples have frames, or the recorder is told why not.
pub(crate) fn have_begun() -> bool {
    !FOUND.load(Ordering::Acquire).is_null()
}

/// Whether the interpreter takes down what it has.
pub(crate) fn is_ending() -> bool {
    // SAFETY: as in `send`.
    matches!(unsafe { FOUND.load(Ordering::Acquire).as_ref() }, Some(Ok(python)) if python.late.is_none() && python.ends())
}

/// To be called at a sample, behind its backtrace.
pub(crate) fn send(entered: &mut Entered) {
    // SAFETY: null, or what `begin` has stored, which stays.
    let Some(found) = (unsafe { FOUND.load(Ordering::Acquire).as_ref() }) else { return };
    let Some(_held) = lock::CONTEXT.acquire(entered.session().patience()) else {
        entered.send(Body::Context { frames: Words::Words(&[]) });
        return;
    };
    // SAFETY: under the lock.
    let state = unsafe { &mut *STATE.0.get() };
    let news = (entered.session().number, hearing(entered, found));
    if state.told != Some(news) {
        if state.told.is_none_or(|(session, _)| session != news.0) {
            state.frames.begin_anew();
        }
        state.told = introduce(entered, found, news.1).then_some(news);
    }
    if let Ok(python) = found {
        // SAFETY: the provider is called at a sample, behind its backtrace.
        let frames = unsafe { state.frames.of_thread(python, entered) };
        entered.send(Body::Context { frames: Words::Words(frames) });
    }
}

/// How small objects are heard, which is decided as soon as it can be: in a process that somebody attaches to, or that has
/// loaded its interpreter late, at the first sample that is of a thread with the interpreter's lock.
fn hearing(entered: &mut Entered, found: &Found) -> Hearing {
    match found {
        Ok(python) if entered.session().hears_small_objects() => {
            let is_undecided = small::hearing() == Hearing::Undecided;
            if is_undecided && python.stays(entered) && python.runs_here() {
                // SAFETY: nobody else has the lock, without which nobody may call these allocators.
                unsafe { small::hear() }
            }
            small::hearing()
        }
        // What stands before its allocators already stays there.
        Ok(_) if small::hearing() == Hearing::Ours => Hearing::Ours,
        _ => Hearing::Not,
    }
}

fn introduce(entered: &mut Entered, found: &Found, hearing: Hearing) -> bool {
    let is_told = entered.send(match found {
        Ok(python) => Body::Runtime {
            name: terms::NAME,
            blocks_are_mallocs: hearing == Hearing::Ours,
            version: python.version,
        },
        Err(Unknown::Version) => Body::Notice { code: terms::UNKNOWN },
        Err(Unknown::FreeThreaded) => Body::Notice { code: terms::FREE_THREADED },
    });
    is_told
        && (hearing != Hearing::Not || entered.send(Body::Notice { code: terms::SMALL_UNHEARD }))
}
