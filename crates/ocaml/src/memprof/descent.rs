//! Which blocks are hit.

use lifetrace_agent::random::Random;
use lifetrace_agent::sampler::{Hits, Rate};

/// As the runtime's own generator has one: each run of a deterministic program is to give the same samples.
const SEED: u64 = 42;

/// Draws the words that are hit.
#[derive(Debug)]
pub(super) struct Draws {
    /// Words that pass before the next hit outside the minor heap.
    gap: u64,
    rate: Rate,
    random: Random,
}

/// Goes through blocks that lie next to each other, the one at the highest address first, as all memory of
/// the minor heap is given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descent {
    /// Words between the bottom of all and the block that was passed last.
    pub(super) below: u64,
    /// From the bottom to above the word that is hit next. Below the bottom it is negative.
    pub(super) hit: i64,
}

impl Draws {
    /// That nothing is hit.
    pub(super) const fn idle() -> Draws {
        let (rate, random) = (Rate::NEVER, Random::new(SEED, 0));
        Draws { gap: u64::MAX, rate, random }
    }

    /// From now on at this rate.
    pub(super) fn begin(&mut self, rate: Rate) {
        self.rate = rate;
        self.gap = self.gap();
    }

    /// How many words pass before the next hit in the minor heap.
    #[inline(never)]
    pub(super) fn gap(&mut self) -> u64 {
        self.rate.gap(&mut self.random)
    }

    /// Draws the rest of a block: one of its words is hit, and `after` more follow that one.
    #[inline(always)]
    fn hits(&mut self, after: u64) -> Hits {
        let gap = self.gap();
        match after.checked_sub(gap) {
            None | Some(0) => Hits { count: 1, gap: gap - after },
            Some(rest) => self.more_hits(rest - 1),
        }
    }

    /// Draws the rest of a block after its second word that is hit, which `after` more follow.
    #[cold]
    #[inline(never)]
    fn more_hits(&mut self, after: u64) -> Hits {
        let Hits { count, gap } = self.rate.hits(&mut self.random, after);
        Hits { count: count + 1, gap }
    }

    /// Passes so many words outside the minor heap, if none of them is hit.
    #[inline]
    pub(super) fn pass(&mut self, words: u64) -> bool {
        let left = self.gap.checked_sub(words);
        self.gap = left.unwrap_or(self.gap);
        left.is_some()
    }

    /// Passes a block of so many words there: how many of them are hit.
    #[inline]
    pub(super) fn take(&mut self, words: u64) -> u64 {
        if self.pass(words) {
            return 0;
        }
        let hits = self.hits(words - 1 - self.gap);
        self.gap = hits.gap;
        hits.count
    }
}

impl Descent {
    /// Passes a block of so many words: how many of them are hit.
    #[inline(always)]
    pub(super) fn pass(&mut self, words: u64, draws: &mut Draws) -> u64 {
        self.below -= words;
        let Ok(after) = u64::try_from(self.hit - 1 - self.below as i64) else { return 0 };
        let hits = draws.hits(after);
        self.hit = self.below as i64 - hits.gap as i64;
        hits.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: [u64; 3] = [2, 3, 5];

    fn draws(rate: f64) -> Draws {
        let mut draws = Draws::idle();
        draws.begin(Rate::per_word(rate));
        draws
    }

    #[test]
    fn at_rate_1_each_word_is_hit() {
        let mut draws = draws(1.0);
        assert_eq!(BLOCKS.map(|words| draws.take(words)), BLOCKS);
        assert!(!draws.pass(1));
        let mut descent = Descent { below: 10, hit: 10 };
        assert_eq!(BLOCKS.map(|words| descent.pass(words, &mut draws)), BLOCKS);
        assert_eq!((descent.below, descent.hit), (0, 0));
        assert!(Draws::idle().pass(1 << 50));
    }

    /// That the blocks' words were hit as often as they should, in so many rounds.
    fn assert_even(counts: [u64; 3], rounds: u64, rate: f64) {
        for (count, words) in counts.into_iter().zip(BLOCKS) {
            let trials = (rounds * words) as f64;
            let deviation = (trials * rate * (1.0 - rate)).sqrt();
            let sigmas = (count as f64 - trials * rate) / deviation;
            assert!(sigmas.abs() < 4.0, "{sigmas} of {words} words");
        }
    }

    #[test]
    fn words_of_all_blocks_are_hit_alike() {
        const ROUNDS: u64 = 200_000;
        const RATE: f64 = 0.1;
        let (mut placed, mut elsewhere) = ([0; 3], [0; 3]);
        let mut draws = draws(RATE);
        let words = BLOCKS.iter().sum();
        let mut gap = draws.gap() as i64;
        for _ in 0..ROUNDS {
            let mut descent = Descent { below: words, hit: words as i64 - gap };
            for (index, words) in BLOCKS.into_iter().enumerate() {
                placed[index] += descent.pass(words, &mut draws);
                elsewhere[index] += draws.take(words);
            }
            assert_eq!(descent.below, 0);
            gap = -descent.hit;
        }
        assert_even(placed, ROUNDS, RATE);
        assert_even(elsewhere, ROUNDS, RATE);
    }
}
