//! Room for a stack, as the machine gives it to profilers. \[UNSAFE\]

use core::ffi::c_int;

use lifetrace_agent::buffer::Buffer;

use crate::numbers::Key;
use crate::vm::{Value, Vm};

/// Room for the frames of a stack, and what is known of threads' last ones.
pub(crate) struct Capture {
    /// The machine's own frame, which stands outside of the program's on the main thread; 0 is none.
    outermost: Value,
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
            outermost: 0,
            frames: Buffer::new(),
            lines: Buffer::new(),
            keys: Buffer::new(),
            era: 1,
            eras: Buffer::new(),
        }
    }

    /// Finds the machine's own outermost frame on the main thread's stack, unless that is deeper than this: it is called
    /// as the program's own, but has no line. Others have none.
    ///
    /// # Safety
    /// As [`Frames::of_thread`](crate::frames::Frames::of_thread).
    pub(crate) unsafe fn find_outermost(&mut self, vm: &Vm, limit: usize) {
        // SAFETY: by contract.
        let Some((keys, false)) = (unsafe { self.take(vm, limit, true, None) }) else { return };
        let Some(last) = keys.last().copied().map(Key) else { return };
        // SAFETY: a frame of this stack.
        if last.line() == 0 && unsafe { vm.frames.is_main(last.object()) } {
            self.outermost = last.object();
        }
    }

    /// The frame that is always alive and stays where it is, if there is one.
    pub(crate) fn outermost(&self) -> Option<Value> {
        Some(self.outermost).filter(|&frame| frame != 0)
    }

    /// Frames have been forgotten: an address may be another frame's now.
    pub(crate) fn begin_era(&mut self) {
        self.era += 1;
    }

    /// Whether the thread's last stack is of this era, which its next one is; `None` if there is no memory.
    pub(crate) fn is_of_era(&mut self, thread: usize) -> Option<bool> {
        if !self.eras.reserve(thread + 1) {
            return None;
        }
        let last = core::mem::replace(&mut self.eras.words_mut()[thread], self.era);
        Some(last == self.era)
    }

    /// The frames of this thread, innermost first, within one that is given, and whether outermost ones are missing; `None`
    /// if there is no memory. The machine's own outermost one is left out, unless there is no other.
    ///
    /// # Safety
    /// As [`Frames::of_thread`](crate::frames::Frames::of_thread).
    pub(crate) unsafe fn take(
        &mut self,
        vm: &Vm,
        limit: usize,
        have_lines: bool,
        within: Option<Key>,
    ) -> Option<(&mut [u64], bool)> {
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
        let count = unsafe { vm.frames.of_thread(frames, lines, have_lines) }.min(limit);
        let is_cut = count == limit;
        let has_outermost = count > 1 && frames[count - 1] == self.outermost;
        let count = count - usize::from(has_outermost);
        let found = frames.iter().zip(lines.iter()).take(count);
        let found = found.map(|(&frame, &line)| Key::new(frame, line));
        let keys = &mut self.keys.words_mut()[..limit];
        let mut frames = 0;
        for (place, key) in keys.iter_mut().zip(within.into_iter().chain(found)) {
            *place = key.0;
            frames += 1;
        }
        Some((&mut keys[..frames], is_cut))
    }
}
