//! How many do something at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Seats for so many.
#[derive(Clone, Debug)]
pub struct Seats(Arc<AtomicUsize>);

/// A seat that is taken; it is free again when this is dropped.
#[derive(Debug)]
pub struct Seat(Arc<AtomicUsize>);

impl Seats {
    /// For so many.
    pub fn new(number: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(number)))
    }

    /// Takes one, if one is free.
    pub fn take(&self) -> Option<Seat> {
        let one_less = |free: usize| free.checked_sub(1);
        let taken = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
        taken.is_ok().then(|| Seat(Arc::clone(&self.0)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_than_so_many() {
        let seats = Seats::new(2);
        let (one, other) = (seats.take(), seats.take());
        assert!(one.is_some() && other.is_some() && seats.take().is_none());
        drop(one);
        assert!(seats.take().is_some());
    }
}
