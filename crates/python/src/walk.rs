//! The frames of a thread that runs Python. \[UNSAFE\]
//!
//! ```text
//! machine's stack   _start main  loop         qsort_r  compare  loop      malloc        outermost first
//! activations                    └ <module> main sort           └ key lambda
//! ```
//!
//! A native frame of the interpreter's loop runs several Python functions: an *activation*. Something of each activation lies
//! in the loop's native frame, and that says which one it is.

use crate::layout::{At, Chain, From, Layout};
use crate::read::Place;

/// A step on the way outwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A frame that runs this instruction, in bytes, of that code.
    Frame(Place, u32),
    /// All frames since the last one of these are of the activation that has this address on the machine's stack.
    Activation(u64),
}

/// A way along frames, innermost first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk<'a> {
    layout: &'a Layout,
    frame: Option<Place>,
    /// What of the frame's activation lies on the machine's stack.
    on_stack: Option<Place>,
    /// The frame has been told, and was the first of its activation.
    ends: bool,
}

impl<'a> Walk<'a> {
    /// From a thread's newest frame on.
    ///
    /// # Safety
    /// The state of this thread, which stays in the functions that it is in until the walk is over.
    pub(crate) unsafe fn new(layout: &'a Layout, thread: Place) -> Walk<'a> {
        // SAFETY: by contract.
        let (frame, on_stack) = unsafe {
            match layout.chain {
                Chain::Each { newest, on_stack } => {
                    let on_stack = on_stack.and_then(|it| thread.follow(it.newest));
                    (thread.follow(newest), on_stack)
                }
                Chain::Marked { on_stack, newest, .. } => {
                    let on_stack = thread.follow(on_stack.newest);
                    (on_stack.and_then(|it| it.follow(newest)), on_stack)
                }
                Chain::Between { from: From::State(newest), .. } => (thread.follow(newest), None),
                Chain::Between { from: From::Behind(first, second), .. } => {
                    (thread.follow(first).and_then(|it| it.follow(second)), None)
                }
            }
        };
        Walk { layout, frame, on_stack, ends: false }
    }

    /// The next step; nothing at the outermost frame, or where there is none to be read.
    ///
    /// # Safety
    /// As [`Walk::new`].
    pub(crate) unsafe fn next(&mut self) -> Option<Step> {
        // SAFETY: by contract.
        unsafe {
            if core::mem::take(&mut self.ends) {
                let on_stack = self.on_stack?;
                self.on_stack = match self.layout.chain {
                    Chain::Each { on_stack: Some(it), .. } => on_stack.follow(it.next),
                    Chain::Marked { on_stack: it, .. } => on_stack.follow(it.next),
                    _ => None,
                };
                return Some(Step::Activation(on_stack.address()));
            }
            let frame = self.frame?;
            self.frame = frame.follow(self.layout.frame.previous);
            if self.is_between(frame) {
                return Some(Step::Activation(frame.address()));
            }
            self.ends = self.is_first(frame);
            let (code, at) = self.place(frame)?;
            Some(Step::Frame(code, at))
        }
    }

    /// # Safety
    /// As [`Walk::new`].
    unsafe fn is_between(&self, frame: Place) -> bool {
        match self.layout.chain {
            // SAFETY: by contract.
            Chain::Between { owner, least_owner, .. } => unsafe {
                frame.get::<u8>(owner) >= least_owner
            },
            _ => false,
        }
    }

    /// # Safety
    /// As [`Walk::new`].
    unsafe fn is_first(&self, frame: Place) -> bool {
        match self.layout.chain {
            Chain::Each { on_stack, .. } => on_stack.is_some(),
            // SAFETY: by contract.
            Chain::Marked { is_first, .. } => unsafe { frame.get::<u8>(is_first) != 0 },
            Chain::Between { .. } => false,
        }
    }

    /// # Safety
    /// As [`Walk::new`].
    unsafe fn place(&self, frame: Place) -> Option<(Place, u32)> {
        /// References of 3.14 have marks in these.
        const MARKS: u64 = 7;
        let layout = &self.layout.frame;
        // SAFETY: by contract.
        unsafe {
            let code = Place::new(frame.get::<u64>(layout.code) & !MARKS)?;
            let at = match layout.at {
                At::Index(offset, bytes) => {
                    // Before the first one it is -1.
                    u32::try_from(frame.get::<i32>(offset)).unwrap_or(0).saturating_mul(bytes)
                }
                At::Address(offset) => {
                    let first = code.address() + self.layout.code.instructions as u64;
                    u32::try_from(frame.get::<u64>(offset).saturating_sub(first)).unwrap_or(0)
                }
            };
            Some((code, at))
        }
    }
}
