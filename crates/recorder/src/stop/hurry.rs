//! Threads that stand still wait for us: while they do, we come before others, whatever group they are in.

use super::call::{Scheduling, schedule, scheduling};

/// Until this is dropped this thread runs before all ordinary ones, if that is permitted. Threads that it starts do not.
#[derive(Debug)]
pub(crate) struct Hurry(Option<Scheduling>);

impl Hurry {
    pub(crate) fn begin() -> Hurry {
        Hurry(scheduling().filter(|_| schedule(Scheduling::FIRST).is_ok()))
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // To be less urgent is always permitted, but not to have threads inherit urgency again: none is left.
            let _ = schedule(before).or_else(|_| schedule(before.without_heirs()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn afterwards_all_is_as_before() {
        let before = scheduling();
        let hurry = Hurry::begin();
        let is_first = hurry.0.is_some();
        assert_eq!(is_first, scheduling() != before);
        drop(hurry);
        assert_eq!(scheduling(), before);
    }
}
