//! Walks the stack in the runtime's place. \[UNSAFE\]
//!
//! The runtime walks the whole stack for each sample, by its hash table of descriptors, and makes an array
//! of the frames in the program's heap; with hundreds of frames that is most of what a sample costs, and
//! more work for the collector. So the first bytes of `caml_collect_current_callstack` become a jump to us.
//! Memprof's calls are told by the depth that Memprof was started with, [`MARK`]. We walk as the runtime
//! does, but look up only what has changed since this thread's last walk ([`Chain`]), and leave one word
//! in the runtime's array, a [`Ticket`], by which the callback gets what was found:
//!
//! ```text
//! by OCaml code     collect ────────────────── ticket ─▶ callback, at once ─ walk, the thread's backtrace
//! by C code         collect ─ walk ─ waiting ─ ticket ─▶ callback, at the next safe point
//! ```
//!
//! A ticket for a callback that comes at once is made by the thunk that the jump leads to: a sample fetches our code
//! anew, so as little as can be of it. For all others (`Printexc.get_callstack`) [`collect`] does what the
//! function did. Whoever calls it holds the runtime's lock. It may be called where the program's stack has
//! nearly ended, so it runs on ours.
//!
//! [`Chain`]: lifetrace_agent::chain::Chain

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::chain::{Frame, Frames, State, Walk};
use lifetrace_agent::guard::Entered;
use lifetrace_agent::sender::Speaker;
use lifetrace_transport::codec::MAX_FRAMES;
use lifetrace_transport::segment::LostReason;

use crate::descriptors::{self, Descriptors};
use crate::patch::Patch;
use crate::runtime::{self, Runtime};
use crate::state::{self, Naming};
use crate::tickets::Ticket;
use crate::waiting::{Place, Waiting};
use crate::{callbacks, start, thunks};

/// The depth that Memprof is started with: nobody else asks for so many frames.
pub(crate) const MARK: usize = 0x5_1f7a;

/// Printexc keeps the frames by a variable on the stack, so near us; Memprof by a static one.
pub(crate) const NEAR: usize = 1 << 16;

/// Words of the runtime's array at first, as it has it.
const FIRST_LENGTH: usize = 32;

/// Fewer frames say nothing.
const LEAST_LIMIT: usize = 16;

/// The function's parts that are needed in its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collecting {
    pub(crate) function: *mut u8,
    pub(crate) descriptors: Descriptors,
    pub(crate) allocate: unsafe extern "C" fn(usize) -> *mut c_void,
    pub(crate) resize: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
}

/// The runtime's array, `*buffer`, which has `*length` words.
struct Array {
    collecting: Collecting,
    buffer: *mut *mut u64,
    length: *mut isize,
}

/// The program's stack, whose frames the recorder is to know.
struct Stack<'a> {
    descriptors: Descriptors,
    runtime: &'static Runtime,
    naming: &'a mut Naming,
    speaker: Speaker<'a>,
}

static PATCH: Patch = Patch::new();
static IN_PLACE: AtomicBool = AtomicBool::new(false);

struct Shared<T>(UnsafeCell<T>);

// SAFETY: used under the runtime's lock.
unsafe impl<T> Sync for Shared<T> {}

static WAITING: Shared<Waiting> = Shared(UnsafeCell::new(Waiting::new()));

/// Takes the runtime's place, if that can be: to be called before there is any OCaml code. Memprof is then to
/// be started with [`MARK`].
pub(crate) fn take_over(runtime: &Runtime) -> bool {
    let Some(collecting) = runtime.collecting.filter(|_| runtime.stack_state().is_some()) else {
        return false;
    };
    // SAFETY: a function of the runtime that is longer than a jump; nobody runs it now.
    let is_put = unsafe { PATCH.put(collecting.function, thunks::COLLECT as usize) };
    IN_PLACE.store(is_put, Ordering::Release);
    is_put
}

/// Gives it back: Memprof is to be stopped. Not to be called from [`collect`].
pub(crate) fn give_back(runtime: &Runtime) {
    if let Some(collecting) = runtime.collecting
        && IN_PLACE.swap(false, Ordering::AcqRel)
    {
        // SAFETY: in place, and the caller, who holds the lock, is not in it.
        unsafe {
            PATCH.take_back(collecting.function);
            (*WAITING.0.get()).clear();
        }
    }
}

/// `caml_collect_current_callstack`: leaves at most `most` frames in the array, and returns how many.
/// `allocation`, if it is not negative, says which of the blocks it is that are allocated together;
/// `stack_pointer` is the caller's.
///
/// # Safety
/// The runtime's contract.
pub(crate) unsafe extern "C" fn collect(
    buffer: *mut *mut u64,
    length: *mut isize,
    most: isize,
    allocation: c_int,
    stack_pointer: usize,
) -> isize {
    let Some(runtime) = runtime::get() else { return 0 };
    let (Some(collecting), Some(state)) = (runtime.collecting, runtime.stack_state()) else {
        return 0;
    };
    let mut array = Array { collecting, buffer, length };
    if most <= 0 || !array.reserve(1) {
        return 0;
    }
    let allocation = usize::try_from(allocation).ok();
    let distance = (buffer as usize).wrapping_sub(stack_pointer);
    if most as usize == MARK && distance > NEAR {
        return for_memprof(runtime, &mut array, state, allocation);
    }
    for_program(&mut array, state, most as usize, allocation)
}

/// As the runtime does it.
#[inline(never)]
fn for_program(array: &mut Array, first: State, most: usize, allocation: Option<usize>) -> isize {
    let descriptors = array.collecting.descriptors;
    let (mut state, mut count) = (first, 0);
    while count < most {
        let Some(frame) = descriptors.frame(&mut state) else { break };
        if !array.reserve(count + 1) {
            break;
        }
        array.set(
            count,
            match allocation.filter(|_| count == 0) {
                // SAFETY: the frame has come to allocate it.
                Some(index) => unsafe { descriptors::of_allocation(frame.slot, index) },
                None => frame.slot,
            },
        );
        count += 1;
        state = Descriptors::caller(state, frame);
    }
    count as isize
}

fn for_memprof(
    runtime: &'static Runtime,
    array: &mut Array,
    first: State,
    allocation: Option<usize>,
) -> isize {
    let block = allocation.and_then(|block| u32::try_from(block).ok());
    let ticket = match block.filter(|block| *block <= Ticket::LAST_BLOCK) {
        Some(block) => Some(Ticket::Wanted(block)),
        None => postpone(runtime, first),
    };
    // What can't wait with us the runtime has to keep.
    let Some(ticket) = ticket else { return for_program(array, first, start::depth(), None) };
    array.set(0, ticket.word());
    1
}

/// Walks now, for a callback that comes later. `None`: there is no place for what was found.
#[inline(never)]
fn postpone(runtime: &'static Runtime, first: State) -> Option<Ticket> {
    let Some(mut entered) = callbacks::enter() else { return Some(Ticket::Lost) };
    if entered.session().header.paused() {
        return Some(Ticket::Lost);
    }
    let walk = walk(&mut entered, runtime, first, None);
    if walk == Walk::Lost {
        return Some(Ticket::Lost);
    }
    let runs = entered.managed.chain.runs();
    // SAFETY: under the runtime's lock, and nobody keeps a reference.
    unsafe { &mut *WAITING.0.get() }.keep(runs, walk == Walk::Whole).map(Ticket::Waiting)
}

/// Walks the stack. Of the blocks that the innermost frame allocates together it is `block`.
fn walk(
    entered: &mut Entered,
    runtime: &'static Runtime,
    first: State,
    block: Option<u32>,
) -> Walk {
    let (Some(collecting), Some(mut state)) =
        (runtime.collecting, state::of_session(entered, runtime))
    else {
        return Walk::Lost;
    };
    let state::State { layouts, naming, .. } = &mut *state;
    let (speaker, _, managed) = entered.speaker();
    let mut stack = Stack { descriptors: collecting.descriptors, runtime, naming, speaker };
    let first = block.map_or(first, |block| descriptors::allocating(first, block));
    let walk = managed.chain.walk(&mut stack, layouts, first, start::depth());
    naming.announce(entered);
    walk
}

/// Makes the walk that is wanted, the stack being as it was then.
fn walk_wanted(entered: &mut Entered, runtime: &'static Runtime, block: u32) -> bool {
    let Some(first) = runtime.stack_state() else {
        entered.session().header.count_lost(LostReason::Reentrant);
        return false;
    };
    let walk = walk(entered, runtime, first, Some(block));
    let limit = limit(entered);
    walk != Walk::Lost && entered.managed.tell_walk(limit, walk != Walk::Whole)
}

/// Makes the backtrace that a callback was given the thread's; whether the recorder knows all of it.
pub(crate) fn redeem(entered: &mut Entered, runtime: &'static Runtime, frames: &[u64]) -> bool {
    match Ticket::of(frames) {
        Some(Ticket::Wanted(block)) => walk_wanted(entered, runtime, block),
        Some(Ticket::Waiting(place)) => tell_waiting(entered, place),
        Some(Ticket::Lost) => false,
        None => take(entered, runtime, frames),
    }
}

#[inline(never)]
fn tell_waiting(entered: &mut Entered, place: Place) -> bool {
    // SAFETY: under the runtime's lock, and nobody keeps a reference.
    let waiting = unsafe { &mut *WAITING.0.get() };
    let Some((runs, is_whole)) = waiting.at(place) else { return false };
    let limit = limit(entered);
    let is_told = entered.managed.tell_other(runs, limit, !is_whole);
    waiting.done(place);
    is_told
}

/// Makes the runtime's own backtrace the thread's; whether the recorder knows all of it.
#[inline(never)]
pub(crate) fn take(entered: &mut Entered, runtime: &Runtime, slots: &[u64]) -> bool {
    let Some(mut state) = state::of_session(entered, runtime) else { return false };
    let limit = limit(entered);
    let (mut speaker, _, managed) = entered.speaker();
    let translate =
        |new: &[u64], numbers: &mut [u32]| state.translate(&mut speaker, runtime, new, numbers);
    let is_known = managed.chain.take(slots, translate)
        && managed.tell_walk(limit, slots.len() >= start::depth());
    state.naming.announce(entered);
    is_known
}

fn limit(entered: &Entered) -> usize {
    let limit = entered.session().header.settings().stack_limit as usize;
    limit.clamp(LEAST_LIMIT, MAX_FRAMES)
}

/// The recorder is another one: it does not know the numbers of what waits.
pub(crate) fn forget_waiting() {
    // SAFETY: under the runtime's lock, or, with domains, where nothing waits here, the state's.
    unsafe { &mut *WAITING.0.get() }.clear();
}

/// A ticket whose callback is of no use.
#[cold]
pub(crate) fn drop_ticket(frames: &[u64]) {
    if let Some(Ticket::Waiting(place)) = Ticket::of(frames) {
        // SAFETY: under the runtime's lock, and nobody keeps a reference.
        unsafe { &mut *WAITING.0.get() }.done(place);
    }
}

impl Frames for Stack<'_> {
    #[inline]
    fn frame(&self, state: &mut State) -> Option<Frame> {
        self.descriptors.frame_of_block(state)
    }

    fn tell(&mut self, slot: u64, number: Option<u32>) -> bool {
        self.naming.tell(&mut self.speaker, self.runtime, slot, number)
    }

    #[inline]
    fn return_address(&self, stack: u64) -> u64 {
        Descriptors::return_address(stack)
    }
}

impl Array {
    /// Sees to it that there are so many words; false when there is no memory.
    fn reserve(&mut self, wanted: usize) -> bool {
        // SAFETY: the caller's variable.
        wanted <= unsafe { *self.length } as usize || self.grow(wanted)
    }

    #[cold]
    fn grow(&mut self, wanted: usize) -> bool {
        // SAFETY: the caller's variables. What is there came from the same allocator.
        unsafe {
            let length = *self.length as usize;
            let new_length = wanted.next_power_of_two().max(FIRST_LENGTH);
            let bytes = new_length * size_of::<u64>();
            let words = match length {
                0 => (self.collecting.allocate)(bytes),
                _ => (self.collecting.resize)((*self.buffer).cast(), bytes),
            };
            if words.is_null() {
                return false;
            }
            (*self.buffer, *self.length) = (words.cast(), new_length as isize);
        }
        true
    }

    /// Puts a word where there is room.
    fn set(&mut self, index: usize, word: u64) {
        // SAFETY: reserved by the caller.
        unsafe { (*self.buffer).add(index).write(word) };
    }
}
