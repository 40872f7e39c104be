//! What the agent's callbacks share: which frames the recorder knows. \[UNSAFE\]
//!
//! Under OCaml 4 the runtime's lock is held whenever this is used; domains of OCaml 5 take turns by a
//! lock of our own. The recorder of a forked child knows nothing yet, so a new session begins afresh.
//!
//! A slot is what the runtime gives for a frame: the address of a descriptor or of debug information, as
//! an immediate, so odd. It stands for the same place as long as the process lives: OCaml code is never
//! unloaded.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

use lifetrace_agent::guard::Entered;
use lifetrace_agent::host::announce_module;
use lifetrace_agent::lock::{Held, Lock};
use lifetrace_agent::sender::Sender;
use lifetrace_transport::message::{Body, FrameKind, FrameName};
use lifetrace_transport::segment::LostReason;

use crate::debug_info::{self, MOST_LOCATIONS, SourceLocation};
use crate::runtime::Runtime;
use crate::walk::{Fresh, Layouts};
use crate::{counters, terms};

/// What the callbacks of a process share: the frames that the recorder knows, and room for a walk.
#[derive(Debug)]
pub(crate) struct State {
    /// Whose recorder knows the frames.
    session: u32,
    /// By the code that they return to, and by slots.
    pub(crate) layouts: Layouts,
    /// Room for a walk.
    pub(crate) fresh: Fresh,
    pub(crate) naming: Naming,
}

/// Tells the recorder what the numbers of frames stand for.
#[derive(Debug)]
pub(crate) struct Naming {
    /// Of those that have no names but addresses, one in each part of memory, as far as there is room; 0 is none.
    new_addresses: [u64; MOST_NEW],
}

/// Modules that can be met for the first time in one sample.
const MOST_NEW: usize = 8;

/// Code that is nearer than that is mostly of the same module.
const SAME_MODULE: u64 = 1 << 16;

struct Shared(UnsafeCell<State>);

// SAFETY: used under the runtime's lock of OCaml 4, or of OCaml 5, whose domains have none, under `LOCK` alone.
unsafe impl Sync for Shared {}

static LOCK: Lock = Lock::new();
static STATE: Shared = Shared(UnsafeCell::new(State {
    session: 0,
    layouts: Layouts::new(),
    fresh: Fresh::new(),
    naming: Naming { new_addresses: [0; MOST_NEW] },
}));

/// Exclusive use of the state.
pub(crate) struct Use {
    _held: Held<'static>,
    state: &'static mut State,
}

/// Takes the state, of the session that `at` speaks to; `None` (counted as a loss) if another thread has
/// it for too long.
pub(crate) fn of_session(at: &mut Entered, runtime: &Runtime) -> Option<Use> {
    let Some(held) = LOCK.acquire(at.session().patience()) else {
        at.session().header.count_lost(LostReason::RingBusy);
        return None;
    };
    Some(Use { _held: held, state: state(at, runtime) })
}

/// The state, of the session that `at` speaks to, for who holds the runtime's lock of OCaml 4.
#[inline(always)]
pub(crate) fn under_runtimes_lock<'a>(at: &mut Entered, runtime: &Runtime) -> &'a mut State {
    state(at, runtime)
}

#[inline(always)]
fn state<'a>(at: &mut Entered, runtime: &Runtime) -> &'a mut State {
    // SAFETY: under a lock; the caller has no other reference.
    let state = unsafe { &mut *STATE.0.get() };
    if state.session != at.session().number {
        begin(state, at, runtime);
    }
    state
}

#[cold]
fn begin(state: &mut State, at: &mut Entered, runtime: &Runtime) {
    state.session = at.session().number;
    state.layouts.clear();
    at.send(Body::Runtime {
        name: terms::NAME,
        blocks_are_mallocs: false,
        version: runtime.version.name().as_bytes(),
    });
    // What is counted before is no part of this session.
    at.send(Body::from(&counters::now(runtime).to_bytes()));
}

/// In the only thread of a forked child: whoever held the lock is in the parent.
pub(crate) fn reset_after_fork() {
    LOCK.reset();
}

impl State {
    /// Finds the numbers of slots; false if the name of one could not be sent to the recorder.
    pub(crate) fn translate(
        &mut self,
        sender: &mut Sender<'_>,
        runtime: &Runtime,
        slots: &[u64],
        numbers: &mut [u32],
    ) -> bool {
        let State { layouts, naming, .. } = self;
        slots.iter().zip(numbers).all(|(&slot, number)| {
            let send_name = |number| naming.send_name(sender, runtime, slot, number);
            let known = layouts.get_or_insert(slot, 0, send_name);
            *number = known.map_or(0, |layout| layout.number);
            known.is_some()
        })
    }
}

impl Naming {
    /// Sends what the number of a slot stands for; false if it could not be sent, or there is none.
    #[cold]
    pub(crate) fn send_name(
        &mut self,
        sender: &mut Sender<'_>,
        runtime: &Runtime,
        slot: u64,
        number: Option<u32>,
    ) -> bool {
        let Some(number) = number else {
            sender.count_lost(LostReason::NoFrameRecord);
            return false;
        };
        let (slot, frame) = (slot & !1, u64::from(number));
        let mut locations = [SourceLocation::default(); MOST_LOCATIONS];
        let count = runtime.debug_info.locations(slot, &mut locations);
        if count == 0
            && let Some(address) = debug_info::return_address(slot)
        {
            self.note(address);
            return sender.send(Body::FrameAddress { frame, address });
        }
        // At least one location, even if nothing is known of it.
        let count = count.max(1);
        (0..count).rev().all(|index| {
            let SourceLocation { file, function, line, start: start_char, end: end_char } =
                locations[index];
            let (kind, is_first, is_last) = (FrameKind::default(), index + 1 == count, index == 0);
            let name = FrameName {
                frame,
                kind,
                is_first,
                is_last,
                line,
                start_char,
                end_char,
                function,
                file,
            };
            sender.send(Body::FrameName(name))
        })
    }

    /// Sees to it that the recorder knows the code of frames that have no names but addresses.
    pub(crate) fn announce(&mut self, at: &mut Entered) {
        for address in core::mem::take(&mut self.new_addresses) {
            if address == 0 {
                break;
            }
            announce_module(at, address);
        }
    }

    fn note(&mut self, address: u64) {
        let is_for = |known: &u64| *known == 0 || known.abs_diff(address) < SAME_MODULE;
        if let Some(known) = self.new_addresses.iter_mut().find(|known| is_for(known)) {
            *known = address;
        }
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
