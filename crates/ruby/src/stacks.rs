//! The stack of a thread, as the machine gives it to profilers. \[UNSAFE\]

use core::ffi::c_int;

use lifetrace_agent::buffer::Buffer;
use lifetrace_agent::guard::Entered;
use lifetrace_agent::sender::Sender;
use lifetrace_transport::message::{Body, MANAGED_FRAME};

use crate::names;
use crate::numbers::{Key, Numbers};
use crate::state::{State, Unnamed};
use crate::vm::{Value, Vm};

/// Most frames that the recorder takes around a native backtrace.
const MOST_AROUND: usize = 1 << 10;

/// Fewer frames say nothing.
const LEAST_LIMIT: usize = 16;

/// Room for the frames of a stack, and what is known of threads' last ones.
pub(crate) struct Capture {
    frames: Buffer,
    lines: Buffer<u32>,
    keys: Buffer,
    /// When frames were forgotten last. What a thread keeps from before is of other frames.
    era: u32,
    /// The era of each thread's last stack, by the thread's number.
    eras: Buffer<u32>,
}

impl Capture {
    /// Nothing.
    pub(crate) const fn new() -> Capture {
        Capture {
            frames: Buffer::new(),
            lines: Buffer::new(),
            keys: Buffer::new(),
            era: 1,
            eras: Buffer::new(),
        }
    }

    /// Frames have been forgotten: an address may be another frame's now.
    pub(crate) fn begin_era(&mut self) {
        self.era += 1;
    }

    /// No thread has a stack that is known.
    pub(crate) fn forget_threads(&mut self) {
        self.begin_era();
    }

    /// Whether the thread's last stack is of this era, which its next one is; `None` if there is no memory.
    fn is_of_era(&mut self, thread: usize) -> Option<bool> {
        if !self.eras.reserve(thread + 1) {
            return None;
        }
        let last = core::mem::replace(&mut self.eras.words_mut()[thread], self.era);
        Some(last == self.era)
    }

    /// The frames of this thread, innermost first, and whether outermost ones are missing; `None` if there is no memory.
    ///
    /// # Safety
    /// As [`Vm::profile_frames`].
    unsafe fn take(&mut self, vm: &Vm, limit: usize) -> Option<(&mut [u64], bool)> {
        let has_room =
            self.frames.reserve(limit) && self.lines.reserve(limit) && self.keys.reserve(limit);
        if !has_room {
            return None;
        }
        // SAFETY: words of these sizes; any are numbers.
        let (frames, lines) = unsafe {
            let frames = self.frames.words_mut().as_mut_ptr().cast::<Value>();
            let lines = self.lines.words_mut().as_mut_ptr().cast::<c_int>();
            let of = core::slice::from_raw_parts_mut::<Value>;
            (of(frames, limit), core::slice::from_raw_parts_mut::<c_int>(lines, limit))
        };
        // SAFETY: by contract.
        let count = unsafe { vm.profile_frames(frames, lines) }.min(limit);
        let found = frames.iter().zip(lines.iter()).take(count);
        for (key, (&frame, &line)) in self.keys.words_mut().iter_mut().zip(found) {
            *key = Key::new(frame, line).0;
        }
        Some((&mut self.keys.words_mut()[..count], count == limit))
    }
}

/// Makes this thread's stack its backtrace; whether the recorder is to know all of it.
///
/// # Safety
/// As [`Vm::profile_frames`].
pub(crate) unsafe fn take(state: &mut State, entered: &mut Entered) -> bool {
    let State { vm, capture, numbers, unnamed, .. } = state;
    let limit = limit(entered);
    match capture.is_of_era(entered.id.0 as usize) {
        Some(true) => {}
        Some(false) => entered.managed.clear(),
        None => return false,
    }
    // SAFETY: by contract.
    let Some((keys, is_cut)) = (unsafe { capture.take(vm, limit) }) else { return false };
    let had_names = unnamed.is_empty();
    let (mut sender, _, managed) = entered.sender();
    // SAFETY: by contract, frames of this stack.
    let mut name = |key, number| unsafe { name(vm, &mut sender, unnamed, key, number) };
    let is_known = managed.chain.take(keys, |new, to| translate(numbers, new, to, &mut name))
        && managed.take_walk(limit, is_cut);
    let are_new = had_names && !unnamed.is_empty();
    // SAFETY: by contract.
    unsafe { ask_for_names(vm, entered, are_new) };
    is_known
}

/// This thread's stack as words of a native backtrace, innermost first; `None` if there is no memory.
///
/// # Safety
/// As [`Vm::profile_frames`].
pub(crate) unsafe fn words<'a>(state: &'a mut State, entered: &mut Entered) -> Option<&'a [u64]> {
    let State { vm, capture, numbers, unnamed, .. } = state;
    // SAFETY: by contract.
    let (keys, _) = unsafe { capture.take(vm, limit(entered).min(MOST_AROUND)) }?;
    let had_names = unnamed.is_empty();
    let (mut sender, _, _) = entered.sender();
    for key in keys.iter_mut() {
        let (number, is_new) = numbers.of(Key(*key))?;
        // SAFETY: by contract, a frame of this stack.
        if is_new && !unsafe { name(vm, &mut sender, unnamed, Key(*key), number) } {
            return None;
        }
        *key = MANAGED_FRAME | u64::from(number);
    }
    let are_new = had_names && !unnamed.is_empty();
    // SAFETY: by contract.
    unsafe { ask_for_names(vm, entered, are_new) };
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
    let name = unsafe { vm.short_name(key.object()) };
    sender.send(Body::FrameName(names::message(key, number, name))) && unnamed.add(key.0, number)
}

/// Has the rest asked for at the next safe point, and the recorder wait for it.
///
/// # Safety
/// The machine's lock is the caller's.
unsafe fn ask_for_names(vm: &Vm, entered: &mut Entered, are_new: bool) {
    if are_new {
        // Before the sample that has such frames.
        entered.send(Body::NamesPending { are_pending: true });
        // SAFETY: by contract.
        unsafe { vm.postpone(names::job) };
    }
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
