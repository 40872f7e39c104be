//! How much memory the child may take for itself. \[UNSAFE\]

use core::cell::Cell;
use core::ptr::NonNull;

use crate::sys;

/// Gives memory away until so much is gone.
#[derive(Debug)]
pub struct Budget {
    left: Cell<u64>,
    used: Cell<u64>,
    most: Cell<u64>,
}

impl Budget {
    /// Of so many bytes.
    pub fn of(bytes: u64) -> Budget {
        Budget { left: Cell::new(bytes), used: Cell::new(0), most: Cell::new(0) }
    }

    /// Zeroed words; `None` if the budget or the system has no more. They stay as long as the process does.
    pub fn words(&self, count: usize) -> Option<&'static mut [u64]> {
        let bytes = (count as u64).checked_mul(8)?;
        self.take(bytes, || sys::map(bytes as usize))
    }

    /// As [`words`](Self::words), as many as a huge page has, and in one if the system has one at hand: memory that is read
    /// all over the place costs less there.
    pub fn huge_words(&self) -> Option<&'static mut [u64]> {
        self.take(sys::HUGE_PAGE as u64, sys::map_huge)
    }

    fn take(
        &self,
        bytes: u64,
        map: impl FnOnce() -> Option<NonNull<u8>>,
    ) -> Option<&'static mut [u64]> {
        let left = self.left.get().checked_sub(bytes)?;
        let start: NonNull<u64> = map()?.cast();
        self.left.set(left);
        self.used.set(self.used.get() + bytes);
        self.most.set(self.most.get().max(self.used.get()));
        // SAFETY: a fresh mapping of that length, which nobody else knows.
        Some(unsafe { NonNull::slice_from_raw_parts(start, bytes as usize / 8).as_mut() })
    }

    /// Takes them back.
    pub fn give_back(&self, words: &'static mut [u64]) {
        let bytes = size_of_val(words);
        if let Some(start) = NonNull::new(words.as_mut_ptr()).filter(|_| bytes > 0) {
            // SAFETY: `words` made them, and nobody else has them.
            unsafe { sys::unmap(start.cast(), bytes) };
            self.left.set(self.left.get() + bytes as u64);
            self.used.set(self.used.get() - bytes as u64);
        }
    }

    /// The most that was given away at a time, in bytes.
    pub fn most(&self) -> u64 {
        self.most.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_and_what_comes_back_counts() {
        let budget = Budget::of(64 << 10);
        let first = budget.words(4096).unwrap();
        first[4095] = 1;
        assert!(budget.words(4097).is_none());
        budget.give_back(first);
        assert_eq!(budget.words(8192).unwrap().iter().sum::<u64>(), 0);
        assert!(budget.words(1).is_none());
        assert_eq!(budget.most(), 64 << 10);
        assert!(budget.huge_words().is_none());
        let budget = Budget::of(sys::HUGE_PAGE as u64);
        let huge = budget.huge_words().unwrap();
        assert_eq!(huge.as_ptr() as usize % sys::HUGE_PAGE, 0);
        huge[sys::HUGE_PAGE / 8 - 1] = 1;
        assert_eq!((huge.iter().sum::<u64>(), budget.words(1)), (1, None));
    }
}
