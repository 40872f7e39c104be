//! The stack of a thread, as the machine gives it to profilers. \[UNSAFE\]

use core::ffi::c_int;

use lifetrace_agent::buffer::Buffer;
use lifetrace_agent::guard::Entered;
use lifetrace_transport::message::Body;

use crate::names;
use crate::numbers::{Key, Numbers};
use crate::state::State;
use crate::vm::{Value, Vm};

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
    unsafe fn take(&mut self, vm: &Vm, limit: usize) -> Option<(&[u64], bool)> {
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
        Some((&self.keys.words()[..count], count == limit))
    }
}

/// Makes this thread's stack its backtrace; whether the recorder is to know all of it.
///
/// # Safety
/// As [`Vm::profile_frames`].
pub(crate) unsafe fn take(state: &mut State, entered: &mut Entered) -> bool {
    let State { vm, capture, numbers, unnamed, .. } = state;
    let limit = entered.session().header.settings().stack_limit as usize;
    let limit = limit.max(LEAST_LIMIT);
    match capture.is_of_era(entered.id.0 as usize) {
        Some(true) => {}
        Some(false) => entered.managed.clear(),
        None => return false,
    }
    // SAFETY: by contract.
    let Some((keys, is_cut)) = (unsafe { capture.take(vm, limit) }) else { return false };
    let had_names = unnamed.is_empty();
    let (mut sender, _, managed) = entered.sender();
    let mut name = |key: Key, number| {
        // SAFETY: by contract, a frame of this stack.
        let name = unsafe { vm.short_name(key.object()) };
        sender.send(Body::FrameName(names::message(key, number, name)))
            && unnamed.add(key.0, number)
    };
    let is_known = managed.chain.take(keys, |new, to| translate(numbers, new, to, &mut name))
        && managed.take_walk(limit, is_cut);
    if had_names && !unnamed.is_empty() {
        // Before the sample that has such frames.
        entered.send(Body::NamesPending { are_pending: true });
        // SAFETY: by contract.
        unsafe { vm.postpone(names::job) };
    }
    is_known
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
