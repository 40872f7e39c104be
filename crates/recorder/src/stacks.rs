//! The threads' last backtraces, to which their next ones are differences. What a thread's managed
//! runtime sends is a stream of its own beside what its malloc sends.
//!
//! A process may have thousands of threads with thousands of frames each, and not all of them report
//! their end. So beyond [`MOST_FRAMES`] the backtraces of the threads that have been silent longest
//! are forgotten. What such a thread shares with a backtrace that is forgotten (or was never
//! received) is *missing*: the backtrace is shown as truncated, until the thread sends a whole one.

use lifetrace_trace::ids::LocationCode;
use lifetrace_transport::message::{BacktraceDelta, ThreadId};
use rustc_hash::FxHashMap;

use crate::places::{Places, TRUNCATED};

/// Frames that are kept for all threads together: 8 MiB.
const MOST_FRAMES: usize = 1 << 20;

/// Whose backtraces are differences to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stream {
    pub(crate) thread: ThreadId,
    pub(crate) is_managed: bool,
}

/// The last backtraces of a session's threads.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    by_stream: FxHashMap<Stream, Stack>,
    /// The sum of all that is counted.
    frames: usize,
    /// Counts updates.
    clock: u64,
}

/// A stream's last backtrace, outermost frame first.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    /// Outermost frames that are not known.
    missing: usize,
    truncated: bool,
    /// The first is [`TRUNCATED`]; it counts only if the backtrace is.
    codes: Vec<LocationCode>,
    /// When it was updated last.
    used: u64,
    /// Frames that it has had room for then.
    counted: usize,
}

impl Stacks {
    /// Applies a difference. Returns the stream's backtrace, and how many of its leading frames are
    /// as before.
    pub(crate) fn update(
        &mut self,
        stream: Stream,
        delta: &BacktraceDelta<'_>,
        places: &mut Places,
    ) -> (&mut Stack, usize) {
        self.clock += 1;
        if self.frames > MOST_FRAMES {
            self.forget_the_silent();
        }
        let stack = self.by_stream.entry(stream).or_default();
        let common_prefix = stack.update(delta, places);
        stack.used = self.clock;
        let before = std::mem::replace(&mut stack.counted, stack.codes.capacity());
        self.frames += stack.counted - before;
        (stack, common_prefix)
    }

    /// The thread is gone, or another has its number.
    pub(crate) fn remove(&mut self, thread: ThreadId) {
        for is_managed in [false, true] {
            if let Some(stack) = self.by_stream.remove(&Stream { thread, is_managed }) {
                self.frames -= stack.counted;
            }
        }
    }

    /// All frames, to be given other codes.
    pub(crate) fn codes_mut(&mut self) -> impl Iterator<Item = &mut LocationCode> {
        self.by_stream.values_mut().flat_map(|stack| stack.codes.iter_mut())
    }

    /// Forgets the half of the streams that was used least recently.
    fn forget_the_silent(&mut self) {
        let mut times: Vec<u64> = self.by_stream.values().map(|stack| stack.used).collect();
        let middle = times.len() / 2;
        let (_, &mut median, _) = times.select_nth_unstable(middle);
        self.by_stream.retain(|_, stack| stack.used > median);
        self.by_stream.shrink_to_fit();
        self.frames = self.by_stream.values().map(|stack| stack.counted).sum();
    }
}

impl Stack {
    /// Outermost frame first.
    pub(crate) fn backtrace(&self) -> &[LocationCode] {
        if self.is_cut() { &self.codes } else { &self.codes[1..] }
    }

    /// For a frame that is not the thread's.
    pub(crate) fn codes_mut(&mut self) -> &mut Vec<LocationCode> {
        &mut self.codes
    }

    /// If the agent has cut it off, the outermost frame that there is, and how many there are.
    pub(crate) fn end_of_cut(&self) -> Option<(LocationCode, usize)> {
        let end = self.codes.get(1).filter(|_| self.truncated && self.missing == 0)?;
        Some((*end, self.codes.len() - 1))
    }

    /// Whether outermost frames are missing.
    pub(crate) fn is_cut(&self) -> bool {
        self.truncated || self.missing > 0
    }

    fn update(&mut self, delta: &BacktraceDelta<'_>, places: &mut Places) -> usize {
        let was_cut = self.is_cut();
        if self.codes.is_empty() {
            self.codes.push(TRUNCATED);
            self.missing = delta.shared as usize;
        }
        let shared = delta.shared as usize;
        self.truncated = delta.truncated;
        self.missing = self.missing.min(shared);
        self.codes.truncate(1 + shared - self.missing);
        let kept = self.codes.len() - 1;
        places.put_codes(&delta.fresh, &mut self.codes);
        let marker = usize::from(self.is_cut());
        if was_cut == self.is_cut() { marker + kept } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::ProcessImage;
    use crate::symbolizer::Symbolizer;
    use lifetrace_transport::message::Frames;
    use std::sync::Arc;

    const DEPTH: usize = 10_000;

    fn update(
        stacks: &mut Stacks,
        places: &mut Places,
        thread: u32,
        shared: u32,
        fresh: &[u64],
    ) -> usize {
        let fresh = Frames::Words(fresh);
        let delta = BacktraceDelta { shared, fresh, truncated: false };
        let stream = Stream { thread: ThreadId(thread), is_managed: false };
        let (stack, common_prefix) = stacks.update(stream, &delta, places);
        assert!(common_prefix <= stack.backtrace().len());
        stack.backtrace().len()
    }

    #[test]
    fn the_silent_are_forgotten_and_come_back() {
        let symbolizer = Arc::new(Symbolizer::start().unwrap());
        let mut places = Places::new(symbolizer, ProcessImage::read(rustix::process::getpid()));
        let mut stacks = Stacks::default();
        let deep: Vec<u64> = (1..=DEPTH as u64).collect();
        for thread in 1..=500 {
            update(&mut stacks, &mut places, thread, 0, &deep);
            update(&mut stacks, &mut places, 0, 0, &[1, 2, 3]);
        }
        assert!(stacks.frames <= MOST_FRAMES + DEPTH && stacks.frames >= MOST_FRAMES / 4);
        // One that is used again and again is remembered.
        assert_eq!(update(&mut stacks, &mut places, 0, 2, &[4, 5]), 4);
        // Of the first thread 9,999 frames are missing: the mark, and what is new.
        let shared = DEPTH as u32 - 1;
        assert_eq!(update(&mut stacks, &mut places, 1, shared, &[7]), 2);
        assert_eq!(update(&mut stacks, &mut places, 1, shared + 1, &[8]), 3);
        assert_eq!(update(&mut stacks, &mut places, 1, shared, &[]), 1);
        assert_eq!(update(&mut stacks, &mut places, 1, 5, &[9]), 2);
        assert_eq!(update(&mut stacks, &mut places, 1, 0, &deep), DEPTH);
    }

    #[test]
    fn who_ends_takes_no_room() {
        let symbolizer = Arc::new(Symbolizer::start().unwrap());
        let mut places = Places::new(symbolizer, ProcessImage::read(rustix::process::getpid()));
        let mut stacks = Stacks::default();
        for thread in 1..=100 {
            update(&mut stacks, &mut places, thread, 0, &[1, 2]);
            stacks.remove(ThreadId(thread));
        }
        stacks.remove(ThreadId(100));
        assert_eq!((stacks.frames, stacks.by_stream.len()), (0, 0));
    }
}
