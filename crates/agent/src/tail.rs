//! Words that change at their front: those that are kept stay where they are.
//!
//! The last word has the last place of a [`Buffer`]. So a stack whose innermost frames come first costs
//! writes for those that have changed, and none for those that have not.

use crate::buffer::{Buffer, Word, copy};

/// Words that change at their front, at the end of a [`Buffer`]. All zero is one without words.
#[derive(Debug)]
pub struct Tail<W = u64> {
    buffer: Buffer<W>,
    length: usize,
}

impl<W: Word> Default for Tail<W> {
    fn default() -> Self {
        Tail { buffer: Buffer::new(), length: 0 }
    }
}

impl<W: Word> Tail<W> {
    /// All that are there.
    #[inline(always)]
    pub fn words(&self) -> &[W] {
        let all = self.buffer.words();
        &all[all.len() - self.length..]
    }

    /// All words that are there, to be changed.
    #[inline(always)]
    pub fn words_mut(&mut self) -> &mut [W] {
        let all = self.buffer.words_mut();
        let start = all.len() - self.length;
        &mut all[start..]
    }

    /// Makes room for `wanted` words in all; false when there is no memory.
    #[inline]
    pub fn reserve(&mut self, wanted: usize) -> bool {
        let before = self.buffer.words().len();
        wanted <= before || self.grow(before, wanted)
    }

    #[cold]
    fn grow(&mut self, before: usize, wanted: usize) -> bool {
        let has_room = self.buffer.reserve(wanted);
        let words = self.buffer.words_mut();
        words.copy_within(before - self.length..before, words.len() - self.length);
        has_room
    }

    /// Puts `front` before the last `kept` words, for which there is room, in place of what was there.
    #[inline(always)]
    pub fn replace_front(&mut self, front: &[W], kept: usize) {
        let all = self.buffer.words_mut();
        let end = all.len() - kept;
        copy(&mut all[end - front.len()..end], front);
        self.length = front.len() + kept;
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::random::Random;

    #[test]
    fn fronts_are_replaced_and_the_rest_is_kept() {
        let mut random = Random::new(5, 5);
        let (mut tail, mut naive) = (Tail::<u64>::default(), Vec::<u64>::new());
        for round in 0..2_000 {
            let kept = random.word() as usize % (naive.len() + 1);
            let most = if round % 100 == 0 { 3_000 } else { 30 };
            let front: Vec<u64> = (0..random.word() % most).collect();
            assert!(tail.reserve(front.len() + kept));
            assert_eq!(tail.words(), naive);
            let place = tail.words()[tail.words().len() - kept..].as_ptr();
            tail.replace_front(&front, kept);
            naive.splice(..naive.len() - kept, front);
            assert_eq!(tail.words(), naive);
            assert_eq!(tail.words()[naive.len() - kept..].as_ptr(), place);
        }
        tail.words_mut()[0] = 99;
        assert_eq!(tail.words()[0], 99);
        tail.clear();
        assert!(tail.words().is_empty());
    }
}
