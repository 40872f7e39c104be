//! The spans that threads report: frames outside of all others in their malloc's backtraces.

use lifetrace_trace::ids::LocationCode;
use lifetrace_transport::message::{Frames, ThreadId};
use rustc_hash::FxHashMap;

use crate::places::Places;
use crate::stacks::Stack;

/// A process with more threads that say such a thing, and not that they have ended, has gone mad.
const MOST_THREADS: usize = 1 << 16;

/// Frames of one thread.
const MOST_FRAMES: usize = 1 << 10;

/// By thread.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    by_thread: FxHashMap<ThreadId, Context>,
    /// A backtrace with its context.
    joined: Vec<LocationCode>,
}

#[derive(Debug)]
struct Context {
    /// Outermost first.
    codes: Vec<LocationCode>,
    /// No backtrace has had it yet.
    is_new: bool,
}

impl Contexts {
    /// The thread is at something else. `frames` are innermost first; if there are none, it is at nothing.
    pub(crate) fn set(&mut self, thread: ThreadId, frames: Frames<'_>, places: &mut Places) {
        if self.by_thread.len() >= MOST_THREADS {
            self.by_thread.clear();
        }
        let codes = frames.iter().rev().take(MOST_FRAMES).map(|word| places.code(word)).collect();
        self.by_thread.insert(thread, Context { codes, is_new: true });
    }

    /// The thread is gone, or another has its number.
    pub(crate) fn remove(&mut self, thread: ThreadId) {
        self.by_thread.remove(&thread);
    }

    /// All frames, to be given other codes.
    pub(crate) fn codes_mut(&mut self) -> impl Iterator<Item = &mut LocationCode> {
        self.by_thread.values_mut().flat_map(|context| context.codes.iter_mut())
    }

    /// The thread's backtrace with what it is at, of which the first `common_prefix` frames are as they were
    /// without that; and so many are with it.
    pub(crate) fn join<'a>(
        &'a mut self,
        thread: ThreadId,
        stack: &'a Stack,
        common_prefix: usize,
    ) -> (&'a [LocationCode], usize) {
        let Some(context) = self.by_thread.get_mut(&thread) else {
            return (stack.backtrace(), common_prefix);
        };
        // The mark of a backtrace that is cut stays in front.
        let (mark, frames) = stack.backtrace().split_at(usize::from(stack.is_cut()));
        self.joined.clear();
        self.joined.extend_from_slice(mark);
        self.joined.extend_from_slice(&context.codes);
        self.joined.extend_from_slice(frames);
        let is_new = std::mem::take(&mut context.is_new);
        let common_prefix = match common_prefix {
            0 => 0,
            _ if is_new => 0,
            common => common + context.codes.len(),
        };
        (&self.joined, common_prefix)
    }
}
