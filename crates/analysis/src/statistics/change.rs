//! By how much two sides differ: the interval of the change, and that of the ratio.
//!
//! [`Difference`] asks whether the sides are equal, and its variances are those of equal sides. Here the
//! same is asked of every change there might be: those that are not refuted are the interval (the
//! inversion of a score test). Of few samples it is skewed, as it must be: where nothing was sampled
//! there may still be much.

use super::compare::{Difference, Run, Side};
use crate::interval::Interval;

/// Halvings: the ends of an interval are exact to nine digits of its width.
const STEPS: usize = 40;
/// Doublings of the first guess of an end, until it is infinite.
const FARTHEST: usize = 200;

/// Two sides that were measured.
#[derive(Clone, Copy)]
pub struct Change {
    before: Side,
    after: Side,
}

impl Change {
    /// `None` if a side has no run.
    pub fn of(before: &[Run], after: &[Run]) -> Option<Self> {
        Some(Self { before: Side::new(before)?, after: Side::new(after)? })
    }

    /// Mean of the runs before.
    pub fn before(&self) -> f64 {
        self.before.mean()
    }

    /// Mean of the runs after.
    pub fn after(&self) -> f64 {
        self.after.mean()
    }

    /// By how much the amount grew.
    pub fn absolute(&self) -> f64 {
        self.after() - self.before()
    }

    /// What is after as a multiple of what was before; infinite if that was nothing.
    pub fn ratio(&self) -> f64 {
        if self.before() == self.after() { 1.0 } else { self.after() / self.before() }
    }

    /// The 95 % interval of the growth.
    pub fn interval(&self) -> Interval {
        let sides = [self.before, self.after];
        let fits = |change: f64| fits(change, &sides);
        let (change, step) = (self.absolute(), self.before().max(self.after()) / 16.0);
        let low = end(|far| fits(change - far), step);
        Interval { low: change - low, high: change + end(|far| fits(change + far), step) }
    }

    /// The 95 % interval of the ratio; its upper end is infinite if what was before may be nothing.
    pub fn ratio_interval(&self) -> Interval {
        let fits = |ratio: f64| fits(0.0, &[self.before.times(ratio), self.after]);
        let ratio = self.ratio();
        if ratio.is_infinite() {
            // Its inverse begins at 0.
            let inverse = end(|far| fits(1.0 / far), 1e-9);
            return Interval { low: 1.0 / inverse, high: ratio };
        }
        let low = end(|far| far < ratio && fits(ratio - far), ratio / 16.0);
        Interval { low: ratio - low, high: ratio + end(|far| fits(ratio + far), ratio / 16.0) }
    }
}

/// Whether the sides may differ by so much.
fn fits(change: f64, sides: &[Side; 2]) -> bool {
    let supposed = Difference::supposing(change, sides);
    (supposed.change() - change).abs() <= supposed.interval95()
}

/// How far `is_within` goes, from 0 on.
fn end(is_within: impl Fn(f64) -> bool, step: f64) -> f64 {
    let mut outside = if step > 0.0 { step } else { 1.0 };
    let mut doublings = 0;
    while is_within(outside) {
        outside *= 2.0;
        doublings += 1;
        if doublings == FARTHEST {
            return f64::INFINITY;
        }
    }
    let mut inside = if doublings > 0 { outside / 2.0 } else { 0.0 };
    for _ in 0..STEPS {
        let middle = (inside + outside) / 2.0;
        if is_within(middle) { inside = middle } else { outside = middle }
    }
    inside
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::estimate::Estimate;

    fn runs(most: usize) -> impl Strategy<Value = Vec<Run>> {
        let run = (0.0f64..50.0, 0.1f64..10.0).prop_map(|(blocks, grain)| {
            let value = blocks.floor() * grain;
            Run { estimate: Estimate::new(value, value * grain), grain }
        });
        prop::collection::vec(run, 1..=most)
    }

    proptest! {
        /// No change is in the interval exactly if the sides do not differ. With several runs the degrees
        /// of freedom depend on the change as well.
        #[test]
        fn it_is_the_test_of_equality_turned_over(before in runs(1), after in runs(1)) {
            let change = Change::of(&before, &after).unwrap();
            let p = Difference::of(&before, &after).unwrap().p_value();
            prop_assume!((p - 0.05).abs() > 1e-6);
            prop_assert_eq!(change.interval().contains(0.0), p > 0.05);
            prop_assert_eq!(change.ratio_interval().contains(1.0), p > 0.05);
        }

        #[test]
        fn the_estimate_is_in_it(before in runs(4), after in runs(4)) {
            let change = Change::of(&before, &after).unwrap();
            prop_assert!(change.interval().contains(change.absolute()));
            prop_assert!(change.ratio_interval().contains(change.ratio()));
            prop_assert!(change.ratio_interval().low >= 0.0);
        }
    }

    #[test]
    fn what_is_exact_has_no_interval() {
        let exactly = |value: f64| [Run { estimate: Estimate::new(value, 0.0), grain: 0.0 }];
        let change = Change::of(&exactly(4.0), &exactly(6.0)).unwrap();
        assert_eq!((change.absolute(), change.interval()), (2.0, Interval { low: 2.0, high: 2.0 }));
        assert_eq!(change.ratio_interval(), Interval { low: 1.5, high: 1.5 });
        assert!(Change::of(&[], &exactly(1.0)).is_none());
    }

    #[test]
    fn where_nothing_was_sampled_there_may_be_much() {
        let nothing = [Run { estimate: Estimate::default(), grain: 10.0 }];
        let some = [Run { estimate: Estimate::new(1000.0, 1e4), grain: 10.0 }];
        let change = Change::of(&nothing, &some).unwrap();
        let interval = change.interval();
        assert!(interval.low < 800.0 && interval.high < 1300.0, "{interval:?}");
        let ratio = change.ratio_interval();
        assert!(ratio.low > 10.0 && ratio.high.is_infinite(), "{ratio:?}");
    }
}
