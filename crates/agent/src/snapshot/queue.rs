//! Blocks that have been met and not been told of: what comes first leaves first. Memory is given back as it empties.

use super::budget::Budget;
use super::marks::NoMemory;

/// Words of a piece.
const PIECE: usize = 1 << 15;
/// Most pieces at a time: two milliards of blocks.
const MOST_PIECES: usize = 1 << 16;

/// Addresses that wait.
#[derive(Debug)]
pub struct Queue<'a> {
    budget: &'a Budget,
    /// Where pieces are, in a circle.
    pieces: &'static mut [u64],
    /// How many words have ever been taken out, and put in.
    read: usize,
    written: usize,
}

impl<'a> Queue<'a> {
    /// An empty one.
    pub fn new(budget: &'a Budget) -> Queue<'a> {
        Queue { budget, pieces: &mut [], read: 0, written: 0 }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.written - self.read
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts an address at the end.
    ///
    /// # Errors
    /// [`NoMemory`].
    #[inline]
    pub fn push(&mut self, address: u64) -> Result<(), NoMemory> {
        if self.written.is_multiple_of(PIECE) {
            self.begin_piece()?;
        }
        // SAFETY: a piece that was begun, and not given back, as it is not read to its end.
        unsafe { self.word(self.written).write(address) };
        self.written += 1;
        Ok(())
    }

    /// Takes the first one out.
    #[inline]
    pub fn pop(&mut self) -> Option<u64> {
        if self.read == self.written {
            return None;
        }
        // SAFETY: it was written.
        let address = unsafe { self.word(self.read).read() };
        self.read += 1;
        if self.read.is_multiple_of(PIECE) {
            self.end_piece();
        }
        Some(address)
    }

    /// The one that comes so many after the first, if so many wait.
    #[inline]
    pub fn peek(&self, after: usize) -> Option<u64> {
        let at = self.read + after;
        // SAFETY: it was written.
        (at < self.written).then(|| unsafe { self.word(at).read() })
    }

    #[inline]
    fn word(&self, at: usize) -> *mut u64 {
        let piece = self.pieces[at / PIECE % MOST_PIECES] as *mut u64;
        piece.wrapping_add(at % PIECE)
    }

    #[cold]
    fn begin_piece(&mut self) -> Result<(), NoMemory> {
        if self.pieces.is_empty() {
            self.pieces = self.budget.words(MOST_PIECES).ok_or(NoMemory)?;
        }
        if self.written - self.read >= (MOST_PIECES - 1) * PIECE {
            return Err(NoMemory);
        }
        let piece = self.budget.words(PIECE).ok_or(NoMemory)?;
        self.pieces[self.written / PIECE % MOST_PIECES] = piece.as_mut_ptr() as u64;
        Ok(())
    }

    #[cold]
    fn end_piece(&mut self) {
        let piece = self.word(self.read - PIECE);
        // SAFETY: `begin_piece` has put a piece of that length there, and nobody reads it any more.
        self.budget.give_back(unsafe { core::slice::from_raw_parts_mut(piece, PIECE) });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::random::Random;

    #[test]
    fn what_comes_first_leaves_first_and_memory_comes_back() {
        let budget = Budget::of(4 << 20);
        let (mut queue, mut twin, mut random) =
            (Queue::new(&budget), VecDeque::new(), Random::new(2, 0));
        for _ in 0..200 {
            for _ in 0..random.word() % 5_000 {
                let address = random.word();
                queue.push(address).unwrap();
                twin.push_back(address);
            }
            for after in [0, 7, 40_000] {
                assert_eq!(queue.peek(after), twin.get(after).copied());
            }
            for _ in 0..random.word() % 5_500 {
                assert_eq!(queue.pop(), twin.pop_front());
            }
        }
        while let Some(address) = twin.pop_front() {
            assert_eq!(queue.pop(), Some(address));
        }
        assert_eq!(queue.pop(), None);
        let full = (0..1 << 20).find(|&address| queue.push(address) == Err(NoMemory));
        assert!(full.is_some_and(|count| count > 1 << 17), "{full:?}");
    }
}
