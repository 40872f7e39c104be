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
//! by OCaml code     collect ─ walk, the thread's backtrace ─ ticket ─▶ callback, at once
//! by C code         collect ─ walk ─ waiting ─────────────── ticket ─▶ callback, at the next safe point
//! ```
//!
//! For all others (`Printexc.get_callstack`) it does what the function did. Whoever calls it holds the
//! runtime's lock. It may be called where the program's stack has nearly ended, so it runs on ours.
//!
//! [`Chain`]: lifetrace_agent::chain::Chain

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lifetrace_agent::chain::{Frames, State};
use lifetrace_agent::guard::Entered;

use crate::callbacks::Captured;
use crate::descriptors::{self, Descriptors};
use crate::patch::Patch;
use crate::runtime::{self, Runtime};
use crate::waiting::{Place, Waiting};
use crate::{callbacks, start, thunks};

/// The depth that Memprof is started with: nobody else asks for so many frames.
pub(crate) const MARK: usize = 0x5_1f7a;

/// Printexc keeps the frames by a variable on the stack, so near us; Memprof by a static one.
const NEAR: usize = 1 << 16;

/// Words of the runtime's array at first, as it has it.
const FIRST_LENGTH: usize = 32;

/// Slots are addresses, and nothing is mapped below this.
const LOWEST_SLOT: u64 = 1 << 16;

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

/// What stands in a callstack in place of its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ticket {
    /// Nothing could be found out.
    Lost,
    /// The backtrace is among those that wait.
    Waiting(Place),
    /// It is the thread's, of the walk with this number.
    Walked(u64),
}

static PATCH: Patch = Patch::new();
static IN_PLACE: AtomicBool = AtomicBool::new(false);

/// Counts walks.
static WALKS: AtomicU64 = AtomicU64::new(0);

struct Shared(UnsafeCell<Waiting>);

// SAFETY: used under the runtime's lock.
unsafe impl Sync for Shared {}

static WAITING: Shared = Shared(UnsafeCell::new(Waiting::new()));

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
                Some(index) => unsafe { descriptors::of_allocation(frame, index) },
                None => frame,
            },
        );
        count += 1;
        let caller = descriptors.caller(frame, state);
        state = State { stack: caller, code: descriptors.return_address(caller) };
    }
    count as isize
}

fn for_memprof(
    runtime: &Runtime,
    array: &mut Array,
    first: State,
    allocation: Option<usize>,
) -> isize {
    let descriptors = array.collecting.descriptors;
    let ticket = match callbacks::enter() {
        Some(entered) if entered.session().header.paused() => Ticket::Lost,
        None => Ticket::Lost,
        Some(mut entered) => {
            let is_whole = entered.chain.walk(&descriptors, first, start::depth());
            match allocation {
                Some(index) => walked(&mut entered, runtime, index, is_whole),
                None => match postponed(&entered, is_whole) {
                    Some(place) => Ticket::Waiting(place),
                    None => return array.take(entered.chain.frames()),
                },
            }
        }
    };
    array.set(0, ticket.word());
    1
}

/// Makes the walk the thread's backtrace; the callback comes next.
fn walked(entered: &mut Entered, runtime: &Runtime, index: usize, is_whole: bool) -> Ticket {
    let Some(innermost) = entered.chain.innermost_mut() else { return Ticket::Lost };
    let frame = *innermost;
    // SAFETY: the innermost frame has come to allocate it.
    *innermost = unsafe { descriptors::of_allocation(frame, index) };
    let is_known = callbacks::capture(entered, runtime, Captured::Walk, is_whole);
    if let Some(innermost) = entered.chain.innermost_mut() {
        *innermost = frame;
    }
    match is_known {
        true => Ticket::Walked(WALKS.fetch_add(1, Ordering::Relaxed) + 1).rounded(),
        false => Ticket::Lost,
    }
}

#[inline(never)]
fn postponed(entered: &Entered, is_whole: bool) -> Option<Place> {
    // SAFETY: under the runtime's lock, and nobody keeps a reference.
    unsafe { &mut *WAITING.0.get() }.keep(entered.chain.frames(), is_whole)
}

/// Makes the backtrace that a callback was given the thread's; whether the recorder knows all of it.
pub(crate) fn redeem(entered: &mut Entered, runtime: &Runtime, frames: &[u64]) -> bool {
    match Ticket::of(frames) {
        None => {
            let is_whole = frames.len() < start::depth();
            callbacks::capture(entered, runtime, Captured::Frames(frames), is_whole)
        }
        Some(Ticket::Lost) => false,
        Some(walk @ Ticket::Walked(_)) => {
            walk == Ticket::Walked(WALKS.load(Ordering::Relaxed)).rounded()
        }
        Some(Ticket::Waiting(place)) => {
            // SAFETY: under the runtime's lock, and nobody keeps a reference.
            let waiting = unsafe { &mut *WAITING.0.get() };
            let Some((frames, is_whole)) = waiting.at(place) else { return false };
            let is_known = callbacks::capture(entered, runtime, Captured::Frames(frames), is_whole);
            waiting.done(place);
            is_known
        }
    }
}

/// A ticket whose callback is of no use.
pub(crate) fn drop_ticket(frames: &[u64]) {
    if let Some(Ticket::Waiting(place)) = Ticket::of(frames) {
        // SAFETY: under the runtime's lock, and nobody keeps a reference.
        unsafe { &mut *WAITING.0.get() }.done(place);
    }
}

impl Ticket {
    const WALKS: u64 = 1 << 14;

    /// An immediate that is no slot.
    fn word(self) -> u64 {
        const { assert!(Place::NUMBERS < Self::WALKS) };
        let number = match self {
            Ticket::Lost => 0,
            Ticket::Waiting(place) => 1 + place.number(),
            Ticket::Walked(walk) => Self::WALKS + walk % Self::WALKS,
        };
        number << 1 | 1
    }

    /// Of a callstack, if it is one.
    fn of(frames: &[u64]) -> Option<Ticket> {
        let [word] = frames else { return None };
        (*word < LOWEST_SLOT).then(|| match word >> 1 {
            0 => Ticket::Lost,
            walk @ Self::WALKS.. => Ticket::Walked(walk - Self::WALKS),
            place => Ticket::Waiting(Place::of(place - 1)),
        })
    }

    /// As it is read again.
    fn rounded(self) -> Ticket {
        Ticket::of(&[self.word()]).unwrap_or(Ticket::Lost)
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

    /// All of `frames`, or as many as there is memory for.
    fn take(&mut self, frames: &[u64]) -> isize {
        if !self.reserve(frames.len()) {
            return 0;
        }
        frames.iter().enumerate().for_each(|(index, &frame)| self.set(index, frame));
        frames.len() as isize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_read_again() {
        let places = (0..Place::NUMBERS).map(|number| Ticket::Waiting(Place::of(number)));
        let walks = (0..40_000).map(Ticket::Walked);
        for ticket in places.chain(walks).chain([Ticket::Lost]) {
            assert!(ticket.word() % 2 == 1 && ticket.word() < LOWEST_SLOT);
            assert_eq!(Ticket::of(&[ticket.word()]), Some(ticket.rounded()));
        }
        assert_eq!(Ticket::Walked(3).rounded(), Ticket::Walked(3));
        assert_ne!(Ticket::Walked(3).rounded(), Ticket::Walked(4).rounded());
        assert_eq!(Ticket::of(&[]), None);
        assert_eq!(Ticket::of(&[1, 1]), None);
        assert_eq!(Ticket::of(&[0x40_0001]), None);
    }
}
