//! What the agent's callbacks share: which frames the recorder knows. \[UNSAFE\]
//!
//! Under OCaml 4 the runtime's lock is held whenever this is used; domains of OCaml 5 take turns by a
//! lock of our own. The recorder of a forked child knows nothing yet, so a new session begins afresh.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

use lifetrace_agent::guard::Entered;
use lifetrace_agent::lock::{Held, Lock, Patience};
use lifetrace_transport::message::{Body, FRAMES_LEFT_OUT, FrameName, MANAGED_FRAME};
use lifetrace_transport::segment::LostReason;

use crate::debug_info::{self, MOST_PLACES, Place};
use crate::runtime::Runtime;
use crate::slots::Slots;
use crate::start;

/// See the module.
#[derive(Debug)]
pub(crate) struct State {
    /// Whose recorder knows the frames in `slots`.
    session: u32,
    slots: Slots,
    /// Frames that have been named.
    named: u64,
}

struct Shared(UnsafeCell<State>);

// SAFETY: used under `LOCK` alone.
unsafe impl Sync for Shared {}

static LOCK: Lock = Lock::new();
static STATE: Shared = Shared(UnsafeCell::new(State { session: 0, slots: Slots::new(), named: 0 }));

/// Exclusive use of the state.
pub(crate) struct Use {
    _held: Held<'static>,
    state: &'static mut State,
}

/// Takes the state, of the session that `at` speaks to; `None` (counted as a loss) if another thread has
/// it for too long.
pub(crate) fn of_session(at: &mut Entered, runtime: &Runtime) -> Option<Use> {
    let Some(held) = LOCK.acquire(Patience::Short) else {
        at.session().header.count_lost(LostReason::RingBusy);
        return None;
    };
    // SAFETY: under the lock.
    let state = unsafe { &mut *STATE.0.get() };
    let session = at.session().number;
    if state.session != session {
        (state.session, state.named) = (session, 0);
        state.slots.clear();
        at.send(Body::Runtime { version: runtime.version.name().as_bytes() });
    }
    Some(Use { _held: held, state })
}

/// In the only thread of a forked child: whoever held the lock is in the parent.
pub(crate) fn reset_after_fork() {
    LOCK.reset();
}

impl State {
    /// Makes words of the slots that the recorder knows, until one that it does not; how many there were.
    pub(crate) fn translate(&self, slots: &mut [u64]) -> usize {
        self.slots.translate(slots)
    }

    /// The word of a slot, which the recorder knows; `None` if it could not be told.
    pub(crate) fn word(&mut self, at: &mut Entered, runtime: &Runtime, slot: u64) -> Option<u64> {
        if slot == FRAMES_LEFT_OUT {
            return Some(slot);
        }
        if let Some(word) = self.slots.find(slot) {
            return Some(word);
        }
        let word = self.name(at, runtime, slot & !1)?;
        // Without memory it is named again the next time.
        self.slots.insert(slot, word);
        Some(word)
    }

    #[cold]
    fn name(&mut self, at: &mut Entered, runtime: &Runtime, slot: u64) -> Option<u64> {
        let mut places = [Place::default(); MOST_PLACES];
        let count = debug_info::places(runtime, slot, &mut places);
        if count == 0
            && let Some(address) = debug_info::return_address(slot)
        {
            start::announce_modules(at);
            return Some(address);
        }
        let frame = self.named + 1;
        // At least one location, even if nothing is known of it.
        for index in (0..count.max(1)).rev() {
            let Place { file, function, line, start: start_char, end: end_char } = places[index];
            let is_last = index == 0;
            let name = FrameName { frame, is_last, line, start_char, end_char, function, file };
            if !at.send(Body::FrameName(name)) {
                return None;
            }
        }
        self.named = frame;
        Some(MANAGED_FRAME | frame)
    }
}

impl Deref for Use {
    type Target = State;

    fn deref(&self) -> &State {
        self.state
    }
}

impl DerefMut for Use {
    fn deref_mut(&mut self) -> &mut State {
        self.state
    }
}
