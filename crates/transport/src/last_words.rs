//! What an agent keeps up to date in shared memory, for the recorder to find there when the process has ended, in
//! whatever way: messages that have it come now and then only.

use core::sync::atomic::{AtomicU64, Ordering, fence};

use crate::message::CollectorTotals;

/// How the collector's last counts stand to what the process has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// They are those of the last collection of the minor heap: what came after it is not in them.
    pub is_behind: bool,
    /// What the runtime's own sampler has allocated for us is in them.
    pub has_samplers_share: bool,
}

impl Standing {
    const BEHIND: u64 = 1;
    const SHARE: u64 = 2;

    fn to_word(self) -> u64 {
        u64::from(self.is_behind) * Self::BEHIND + u64::from(self.has_samplers_share) * Self::SHARE
    }

    fn of_word(word: u64) -> Standing {
        Standing {
            is_behind: word & Self::BEHIND != 0,
            has_samplers_share: word & Self::SHARE != 0,
        }
    }
}

const WORDS: usize = CollectorTotals::WORDS + 1;

/// Written by the agent; the process may be killed in the midst of that, so what was written before stays whole.
#[derive(Debug, Default)]
#[repr(C)]
pub struct LastWords {
    /// Twice the number of times that counts were written, and one more while they are being written.
    turn: AtomicU64,
    /// Those of even and of odd times.
    collector: [[AtomicU64; WORDS]; 2],
    /// In bytes, each; 0 before it is told.
    resident: AtomicU64,
    most_resident: AtomicU64,
    most_before: AtomicU64,
}

impl LastWords {
    /// Keeps the collector's counts; not if another thread is about to.
    pub fn keep_collector(&self, totals: &CollectorTotals, standing: Standing) {
        let turn = self.turn.load(Ordering::Relaxed);
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        if !turn.is_multiple_of(2)
            || self.turn.compare_exchange(turn, turn + 1, acquire, relaxed).is_err()
        {
            return;
        }
        let [numbers @ .., last] = self.place(turn / 2 + 1);
        for (to, from) in numbers.iter().zip(totals.words()) {
            to.store(from, Ordering::Relaxed);
        }
        last.store(standing.to_word(), Ordering::Relaxed);
        self.turn.store(turn + 2, Ordering::Release);
    }

    /// The counts that were written last; `None` if none were, or if the writer is too fast.
    pub fn collector(&self) -> Option<(CollectorTotals, Standing)> {
        const TRIES: usize = 8;
        (0..TRIES).find_map(|_| self.look()).flatten()
    }

    /// `None` if the place was written to meanwhile.
    fn look(&self) -> Option<Option<(CollectorTotals, Standing)>> {
        let times = self.turn.load(Ordering::Acquire) / 2;
        if times == 0 {
            return Some(None);
        }
        let [numbers @ .., last] = self.place(times);
        let words = core::array::from_fn(|at| numbers[at].load(Ordering::Relaxed));
        let standing = Standing::of_word(last.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        // The next time writes to the other place, the one after that to this one.
        let is_whole = self.turn.load(Ordering::Relaxed) <= 2 * times + 2;
        is_whole.then_some(Some((CollectorTotals::of_words(words), standing)))
    }

    /// Keeps the resident memory at the end, and the most that it was, in bytes.
    pub fn keep_resident(&self, now: u64, most: u64) {
        self.resident.store(now, Ordering::Relaxed);
        self.most_resident.fetch_max(most, Ordering::Relaxed);
    }

    /// It was not the end: what was resident is not known any more.
    pub fn forget_resident(&self) {
        self.resident.store(0, Ordering::Relaxed);
    }

    /// What was resident at the end, and the most that it was, if they were kept.
    pub fn resident(&self) -> Option<(u64, u64)> {
        Some((known(&self.resident)?, known(&self.most_resident)?))
    }

    /// Keeps the most resident memory that the process is known to have had before this program, in bytes: in part
    /// it may be another's.
    pub fn keep_most_before(&self, bytes: u64) {
        self.most_before.store(bytes, Ordering::Relaxed);
    }

    /// It, if it was kept.
    pub fn most_before(&self) -> Option<u64> {
        known(&self.most_before)
    }

    fn place(&self, times: u64) -> &[AtomicU64; WORDS] {
        &self.collector[(times % 2) as usize]
    }
}

fn known(bytes: &AtomicU64) -> Option<u64> {
    Some(bytes.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::SourceName;

    fn totals(number: u64) -> CollectorTotals {
        let figure = |at| (at as u64 != number).then_some(number + at as u64);
        CollectorTotals::of_figures(SourceName::new("ocaml"), core::array::from_fn(figure))
    }

    #[test]
    fn the_last_counts_are_found() {
        let words = LastWords::default();
        assert_eq!(words.collector(), None);
        for number in 1..5 {
            let standing = Standing { is_behind: number == 2, has_samplers_share: number > 2 };
            words.keep_collector(&totals(number), standing);
            assert_eq!(words.collector(), Some((totals(number), standing)));
        }
    }

    #[test]
    fn a_writer_that_is_killed_leaves_what_it_wrote_before() {
        let words = LastWords::default();
        words.keep_collector(&totals(1), Standing::default());
        words.keep_collector(&totals(2), Standing::default());
        words.turn.fetch_add(1, Ordering::Relaxed);
        words.place(3)[0].store(7, Ordering::Relaxed);
        assert_eq!(words.collector(), Some((totals(2), Standing::default())));
        // Nobody writes beside it.
        words.keep_collector(&totals(3), Standing::default());
        assert_eq!(words.collector(), Some((totals(2), Standing::default())));
    }

    #[test]
    fn the_most_memory() {
        let words = LastWords::default();
        assert_eq!((words.resident(), words.most_before()), (None, None));
        words.keep_resident(40, 70);
        words.keep_resident(50, 60);
        words.keep_most_before(30);
        assert_eq!((words.resident(), words.most_before()), (Some((50, 70)), Some(30)));
        words.forget_resident();
        assert_eq!(words.resident(), None);
    }
}
