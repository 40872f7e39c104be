//! The stack of a thread, as the machine gives it to profilers. \[UNSAFE\]

use core::ops::Range;

use lifetrace_agent::guard::Entered;
use lifetrace_agent::sender::Sender;
use lifetrace_transport::message::{Body, MANAGED_FRAME};

use crate::numbers::{Key, Numbers};
use crate::state::{State, Unnamed};
use crate::vm::Vm;
use crate::{class, compiler, names};

/// Most frames that the recorder takes around a native backtrace.
const MOST_AROUND: usize = 1 << 10;

/// Fewer frames say nothing.
const LEAST_LIMIT: usize = 16;

/// Makes this thread's stack its backtrace, with the class of a new object as its innermost frame; whether the recorder
/// is to know all of it.
///
/// # Safety
/// As [`Frames::of_thread`](crate::frames::Frames::of_thread); the class is alive.
pub(crate) unsafe fn take(state: &mut State, entered: &mut Entered, class: Key) -> bool {
    let State { vm, capture, numbers, unnamed, .. } = state;
    let limit = limit(entered);
    match capture.is_of_era(entered.id.0 as usize) {
        Some(true) => {}
        Some(false) => entered.managed.clear(),
        None => return false,
    }
    // SAFETY: by contract.
    let Some((keys, is_cut)) = (unsafe { capture.take(vm, limit, true, Some(class)) }) else {
        return false;
    };
    let before = unnamed.count();
    let (mut sender, _, managed) = entered.sender();
    // SAFETY: by contract, frames of this stack.
    let mut name = |key, number| unsafe { name(vm, &mut sender, unnamed, key, number) };
    let is_known = managed.chain.take(keys, |new, to| translate(numbers, new, to, &mut name))
        && managed.take_walk(limit, is_cut);
    let after = unnamed.count();
    // SAFETY: by contract.
    unsafe { ask_for_names(vm, entered, before..after) };
    is_known
}

/// This thread's stack as words of a native backtrace, innermost first; `None` if there is no memory.
///
/// # Safety
/// As [`Frames::of_thread`](crate::frames::Frames::of_thread).
pub(crate) unsafe fn words<'a>(state: &'a mut State, entered: &mut Entered) -> Option<&'a [u64]> {
    let State { vm, capture, numbers, unnamed, .. } = state;
    let have_lines = !(compiler::may_compile() && vm.version().has_unsafe_compiled_lines());
    // SAFETY: by contract.
    let (keys, _) = unsafe { capture.take(vm, limit(entered).min(MOST_AROUND), have_lines, None) }?;
    let before = unnamed.count();
    let (mut sender, _, _) = entered.sender();
    for key in keys.iter_mut() {
        let (number, is_new) = numbers.of(Key(*key))?;
        // SAFETY: by contract, a frame of this stack.
        if is_new && !unsafe { name(vm, &mut sender, unnamed, Key(*key), number) } {
            return None;
        }
        *key = MANAGED_FRAME | u64::from(number);
    }
    let after = unnamed.count();
    // SAFETY: by contract.
    unsafe { ask_for_names(vm, entered, before..after) };
    Some(keys)
}

/// As many as the session wants.
fn limit(entered: &Entered) -> usize {
    (entered.session().header.settings().stack_limit as usize).max(LEAST_LIMIT)
}

/// Reports what can be said of a new frame at once, and has it wait for the rest.
///
/// # Safety
/// A frame of a stack of this moment.
unsafe fn name(
    vm: &Vm,
    sender: &mut Sender<'_>,
    unnamed: &mut Unnamed,
    key: Key,
    number: u32,
) -> bool {
    // SAFETY: by contract.
    if unsafe { class::is_one(key) } {
        // SAFETY: as above.
        return unsafe { class::send_name(vm, sender, key, number) };
    }
    // SAFETY: by contract.
    let name = unsafe { vm.frames.short_name(key.object()) };
    sender.send(Body::FrameName(names::message(key, number, name))) && unnamed.add(key.0, number)
}

/// Has the rest of these names asked for at the next safe point, and the recorder wait for them. The job is asked for
/// again where others wait already: the machine may have had no room for it.
///
/// # Safety
/// The machine's lock is the caller's.
unsafe fn ask_for_names(vm: &Vm, entered: &mut Entered, new: Range<usize>) {
    if new.is_empty() {
        return;
    }
    if new.start == 0 {
        // Before the sample that has such frames.
        entered.send(Body::NamesPending { are_pending: true });
    }
    // SAFETY: by contract.
    unsafe { vm.postpone(names::job) };
}

/// Finds the numbers of frames; false if one has none.
fn translate(
    numbers: &mut Numbers,
    new: &[u64],
    to: &mut [u32],
    mut name: impl FnMut(Key, u32) -> bool,
) -> bool {
    new.iter().zip(to).all(|(&key, to)| {
        let Some((number, is_new)) = numbers.of(Key(key)) else { return false };
        *to = number;
        !is_new || name(Key(key), number)
    })
}
