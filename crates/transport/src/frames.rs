//! Backtraces, as differences, and their frames.
//!
//! A function that recurses has its frame on the stack many times in a row. Of managed frames such a [`Run`] takes
//! as much as one frame.

/// What distinguishes a managed frame from a return address, in a backtrace: this bit is set, and the
/// others are the number of a [`FrameName`] or [`FrameAddress`] that was sent before.
///
/// [`FrameName`]: crate::message::FrameName
/// [`FrameAddress`]: crate::message::Body::FrameAddress
pub const MANAGED_FRAME: u64 = 1 << 63;

/// Among the numbers of managed frames, those of frames that stand for something that a program has said of
/// itself, and are no code of a managed runtime's: [`MemoryKind`]s have the first of these, the rest are free.
///
/// [`MemoryKind`]: crate::message::MemoryKind
pub const SPAN_FRAME: u64 = 1 << 62;

/// Among the words of a thread's context, the one that says which native frame runs the frames before it, since the last
/// such word: its other bits are the number of native frames outside of that one.
pub const NATIVE_PLACE: u64 = 1 << 61;

/// In a backtrace, the place of frames that were left out of its middle.
pub const FRAMES_LEFT_OUT: u64 = MANAGED_FRAME;

/// A backtrace as a difference to the same thread's previous one (of managed backtraces, to its previous
/// managed one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BacktraceDelta<'a> {
    /// How many outermost frames are those of the previous backtrace.
    pub shared: u32,
    /// All other frames, **innermost first**: return addresses (the address after the call) as found on
    /// the stack, or [`MANAGED_FRAME`]s.
    pub fresh: Frames<'a>,
    /// The unwinder gave up before the outermost frame, or the depth limit was reached.
    pub truncated: bool,
}

/// Frames in wire form or in memory; see [`Frames::iter`].
#[derive(Clone, Copy, Debug)]
pub enum Frames<'a> {
    /// As an agent holds them.
    Words(&'a [u64]),
    /// As an agent holds them, if all are [`MANAGED_FRAME`]s: as [`Run`]s.
    Runs(&'a [u32]),
    /// Words as they arrive: 8 little-endian bytes each; the length is a multiple of 8.
    WordBytes(&'a [u8]),
    /// Runs as they arrive: 4 little-endian bytes each; the length is a multiple of 4.
    RunBytes(&'a [u8]),
}

/// Managed frames of one number in a row: `more:12 number:20`, where there are `more` besides the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run(pub u32);

impl Run {
    /// The greatest number.
    pub const LAST_NUMBER: u32 = (1 << Self::NUMBER_BITS) - 1;

    /// The most frames.
    pub const MOST: usize = 1 << (32 - Self::NUMBER_BITS);

    const NUMBER_BITS: u32 = 20;

    /// Of `frames` with a number that is not greater than the greatest, from one to the most.
    #[inline]
    pub const fn new(number: u32, frames: usize) -> Run {
        Run(number | ((frames - 1) as u32) << Self::NUMBER_BITS)
    }

    /// Of each frame.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0 & Self::LAST_NUMBER
    }

    /// How many there are.
    #[inline]
    pub const fn frames(self) -> usize {
        self.more() as usize + 1
    }

    /// How many there are in several.
    #[inline]
    pub fn frames_of(runs: &[u32]) -> usize {
        runs.iter().map(|&run| Run(run).frames()).sum()
    }

    /// How many more than the first.
    const fn more(self) -> u32 {
        self.0 >> Self::NUMBER_BITS
    }
}

impl<'a> Frames<'a> {
    /// Number of frames.
    pub fn len(&self) -> usize {
        match *self {
            Frames::Words(_) | Frames::WordBytes(_) => self.count(),
            Frames::Runs(runs) => Run::frames_of(runs),
            Frames::RunBytes(bytes) => {
                let runs = bytes.as_chunks().0.iter().map(|&run| Run(u32::from_le_bytes(run)));
                sum_of_frames(runs)
            }
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The words, innermost first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u64> + 'a {
        self.runs().flat_map(|(word, frames)| core::iter::repeat_n(word, frames))
    }

    /// The words, innermost first, and of each how many there are in a row at least.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = (u64, usize)> + ExactSizeIterator + 'a {
        let frames = *self;
        (0..frames.count()).map(move |index| match frames {
            Frames::Words(words) => (words[index], 1),
            Frames::Runs(runs) => managed(runs[index]),
            Frames::WordBytes(bytes) => (u64::from_le_bytes(bytes.as_chunks().0[index]), 1),
            Frames::RunBytes(bytes) => managed(u32::from_le_bytes(bytes.as_chunks().0[index])),
        })
    }

    /// Gives `take` the words, outermost first, and how many of each are in a row: a loop of its own for each form.
    #[inline]
    pub fn for_each_run_outward(&self, mut take: impl FnMut(u64, usize)) {
        let mut take_run = |run| {
            let (word, frames) = managed(run);
            take(word, frames);
        };
        match *self {
            Frames::Runs(runs) => runs.iter().rev().for_each(|&run| take_run(run)),
            Frames::RunBytes(bytes) => {
                let runs = bytes.as_chunks().0.iter().rev();
                runs.for_each(|&run| take_run(u32::from_le_bytes(run)));
            }
            Frames::Words(_) | Frames::WordBytes(_) => {
                self.runs().rev().for_each(|(word, frames)| take(word, frames));
            }
        }
    }

    /// Of words or runs.
    fn count(&self) -> usize {
        match self {
            Frames::Words(words) => words.len(),
            Frames::Runs(runs) => runs.len(),
            Frames::WordBytes(bytes) => bytes.len() / 8,
            Frames::RunBytes(bytes) => bytes.len() / 4,
        }
    }
}

/// In 32 bits, of which processors add several at once, as far as they suffice.
fn sum_of_frames(runs: impl ExactSizeIterator<Item = Run>) -> usize {
    const MOST_RUNS: usize = 1 << Run::NUMBER_BITS;
    let count = runs.len();
    if count > MOST_RUNS {
        return runs.map(Run::frames).sum();
    }
    let more: u32 = runs.map(Run::more).sum();
    count + more as usize
}

fn managed(run: u32) -> (u64, usize) {
    (MANAGED_FRAME | u64::from(Run(run).number()), Run(run).frames())
}

impl PartialEq for Frames<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Frames<'_> {}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    fn bytes_of(runs: &[u32]) -> Vec<u8> {
        runs.iter().flat_map(|run| run.to_le_bytes()).collect()
    }

    #[test]
    fn frames_are_counted_however_many_there_are() {
        let runs = [Run::new(7, 1), Run::new(Run::LAST_NUMBER, Run::MOST), Run::new(0, 3)];
        for times in [0, 1, 2, 1000, (1 << 20) / 3, (1 << 20) / 3 + 1, 1 << 20] {
            let all: Vec<u32> = runs.iter().map(|run| run.0).cycle().take(3 * times).collect();
            assert_eq!(Frames::Runs(&all).len(), times * (Run::MOST + 4));
            assert_eq!(Frames::RunBytes(&bytes_of(&all)).len(), times * (Run::MOST + 4));
        }
    }
}
