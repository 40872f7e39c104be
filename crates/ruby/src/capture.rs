//! Room for a stack, as the machine gives it to profilers. \[UNSAFE\]

use core::ffi::c_int;

use lifetrace_agent::buffer::Buffer;

use crate::numbers::Key;
use crate::vm::{Value, Vm};

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

    /// Whether the thread's last stack is of this era, which its next one is; `None` if there is no memory.
    pub(crate) fn is_of_era(&mut self, thread: usize) -> Option<bool> {
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
    pub(crate) unsafe fn take(
        &mut self,
        vm: &Vm,
        limit: usize,
        has_innermost_line: bool,
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
        let count = unsafe { vm.profile_frames(frames, lines, has_innermost_line) }.min(limit);
        let found = frames.iter().zip(lines.iter()).take(count);
        for (key, (&frame, &line)) in self.keys.words_mut().iter_mut().zip(found) {
            *key = Key::new(frame, line).0;
        }
        Some((&mut self.keys.words_mut()[..count], count == limit))
    }
}
