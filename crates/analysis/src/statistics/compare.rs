//! Is a difference between two sides more than noise?
//!
//! **One run a side**: a z test on the variances of sampling. It says whether *these two runs*
//! differ; that another run would differ as much by itself is not known
//! ([`Difference::between_runs`] is `None`). The variance is the larger of the two that the sides
//! report and of the one that they would have if they were equal (a score test): a side of which
//! nothing was sampled reports none, yet may hold much. The second needs to know what one sampled
//! block stands for: [`Run::grain`].
//!
//! **Several runs a side**: Welch's t test (1947) on the means, so each side may vary as it likes. The
//! variance between runs includes that of sampling, and is never taken for less (the random effects of
//! DerSimonian and Laird 1986). If one side has a single run, the variation between runs of the other
//! is taken for both. With two runs a side only large differences can be seen: Student's
//! distribution with 1 or 2 degrees of freedom is wide. Five are a good number.
//!
//! **No difference seen** is no proof of equality: [`Difference::minimum_detectable`] says what
//! would have been seen, and [`Difference::verdict`] calls sides equal only if the interval lies
//! within a margin (two one-sided tests; Schuirmann 1987). To see a change of 10 % with a
//! probability of 80 %, each side needs some 1600 sampled blocks: the smallest visible change is
//! `2.8 sqrt(2 / samples)`.

use super::distribution::{critical, normal_quantile, two_sided_p};
use crate::estimate::Estimate;

/// What a run of a program says of an amount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The amount, with the error of sampling.
    pub estimate: Estimate,
    /// What one more sampled block would add, in the same unit: for bytes the mean distance between
    /// hits; 0 if everything is sampled. It counts where nothing was sampled.
    pub grain: f64,
}

/// A change of an amount, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Mean of the runs before.
    pub before: f64,
    /// Mean of the runs after.
    pub after: f64,
    /// Standard deviation from run to run that sampling does not explain, the greater of the sides';
    /// `None` if each side has one run.
    pub between_runs: Option<f64>,
    /// Of `after - before`.
    variance: f64,
    /// Degrees of freedom of the variance.
    freedom: f64,
}

/// What can be said of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The sides differ.
    Changed,
    /// They are equal, to within the margin.
    Equal,
    /// It cannot be told.
    Open,
}

impl Difference {
    /// Compares two sides. `None` if one has no run.
    pub fn of(before: &[Run], after: &[Run]) -> Option<Self> {
        Some(Self::supposing(0.0, &[Side::new(before)?, Side::new(after)?]))
    }

    /// With the variances that the sides have if they differ by so much.
    pub(super) fn supposing(change: f64, sides: &[Side; 2]) -> Self {
        let [before, after] = *sides;
        let common = common_mean(&[before, Side { mean: after.mean - change, ..after }]);
        let means = [common, common + change];
        let known = [0, 1].map(|k| sides[k].sampling.max(sides[k].dispersion * means[k].max(0.0)));
        let spread = [0, 1].map(|k| sides[k].spread.map(|spread| spread.max(known[k])));
        let (variance, freedom) = variance_of_change(sides, known, spread);
        let unexplained = |k: usize| spread[k].map(|spread| (spread - known[k]).sqrt());
        let between_runs = [unexplained(0), unexplained(1)].into_iter().flatten();
        Self {
            before: before.mean,
            after: after.mean,
            between_runs: between_runs.reduce(f64::max),
            variance,
            freedom,
        }
    }

    /// By how much the amount grew.
    pub fn change(&self) -> f64 {
        self.after - self.before
    }

    /// Its growth as a share of what was before; `None` if that was nothing.
    pub fn relative(&self) -> Option<f64> {
        (self.before > 0.0).then(|| self.change() / self.before)
    }

    /// Half the width of the 95 % interval of the change.
    pub fn interval95(&self) -> f64 {
        self.half_width(0.95)
    }

    /// How probable it is to see such a change, or a greater one, if the sides are equal. For many
    /// comparisons see [`correction`](super::correction).
    pub fn p_value(&self) -> f64 {
        if self.change() == 0.0 {
            return 1.0;
        }
        two_sided_p(self.change() / self.variance.sqrt(), self.freedom)
    }

    /// The smallest change that such a comparison finds with a probability of about `power` (with
    /// several runs up to a twentieth less often, as the next ones may vary more), if it alarms for
    /// nothing with a probability of `level` (of many comparisons: `level` divided by their
    /// number).
    pub fn minimum_detectable(&self, level: f64, power: f64) -> f64 {
        let missed = if self.freedom.is_finite() {
            critical((2.0 * power - 1.0).max(0.0), self.freedom)
        } else {
            normal_quantile(power.clamp(0.5, 1.0 - 1e-9))
        };
        (critical(1.0 - level, self.freedom) + missed) * self.variance.sqrt()
    }

    /// What can be said with a probability of error of `level`, if `p_value` is that of this
    /// difference, corrected or not, and a change of at most `margin` is none.
    pub fn verdict(&self, p_value: f64, level: f64, margin: f64) -> Verdict {
        if p_value <= level {
            Verdict::Changed
        } else if self.change().abs() + self.half_width(1.0 - 2.0 * level) <= margin {
            Verdict::Equal
        } else {
            Verdict::Open
        }
    }

    fn half_width(&self, level: f64) -> f64 {
        if self.variance == 0.0 {
            0.0
        } else {
            critical(level, self.freedom) * self.variance.sqrt()
        }
    }
}

/// The runs of one side.
#[derive(Clone, Copy)]
pub(super) struct Side {
    runs: f64,
    mean: f64,
    /// Mean variance of sampling of a run.
    sampling: f64,
    /// That variance for each unit of the amount.
    dispersion: f64,
    /// Variance of the runs' estimates; `None` of a single run.
    spread: Option<f64>,
}

impl Side {
    pub(super) fn new(runs: &[Run]) -> Option<Self> {
        let count = runs.len() as f64;
        let average = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / count;
        let mean = average(&|run| run.estimate.value);
        let sampling = average(&|run| run.estimate.variance);
        let squares = average(&|run| (run.estimate.value - mean).powi(2));
        let dispersion = if mean > 0.0 { sampling / mean } else { average(&|run| run.grain) };
        let spread = (runs.len() > 1).then(|| squares * count / (count - 1.0));
        (!runs.is_empty()).then_some(Self { runs: count, mean, sampling, dispersion, spread })
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// If each run had so many times as much.
    pub(super) fn times(self, factor: f64) -> Self {
        let square = factor * factor;
        Self {
            runs: self.runs,
            mean: factor * self.mean,
            sampling: square * self.sampling,
            dispersion: factor * self.dispersion,
            spread: self.spread.map(|spread| square * spread),
        }
    }
}

/// The likeliest mean if the sides are equal: for counts of equal blocks all blocks over all places to
/// look at.
fn common_mean(sides: &[Side; 2]) -> f64 {
    let [precision_before, precision_after] = sides.map(|side| side.runs / side.dispersion);
    match (precision_before.is_finite(), precision_after.is_finite()) {
        (true, true) => {
            let sum = sides[0].mean * precision_before + sides[1].mean * precision_after;
            sum / (precision_before + precision_after)
        }
        (false, true) => sides[0].mean,
        (true, false) => sides[1].mean,
        (false, false) => (sides[0].mean + sides[1].mean) / 2.0,
    }
}

/// The variance of the difference of means, and its degrees of freedom (Welch 1947; Satterthwaite 1946).
fn variance_of_change(sides: &[Side; 2], known: [f64; 2], spread: [Option<f64>; 2]) -> (f64, f64) {
    let runs = sides.map(|side| side.runs);
    match spread {
        [None, None] => (known[0] + known[1], f64::INFINITY),
        [Some(before), Some(after)] => {
            let parts = [before / runs[0], after / runs[1]];
            let freedom = satterthwaite(parts, runs);
            // Two runs that are alike by chance must not pass for a side that is known well.
            let equal = satterthwaite(runs.map(|runs| 1.0 / runs), runs);
            (parts[0] + parts[1], freedom.min(equal))
        }
        [Some(of_many), None] => borrowed(of_many, [known[0], known[1]], [runs[0], runs[1]]),
        [None, Some(of_many)] => borrowed(of_many, [known[1], known[0]], [runs[1], runs[0]]),
    }
}

/// Degrees of freedom of the sum of two variances.
fn satterthwaite(parts: [f64; 2], runs: [f64; 2]) -> f64 {
    let doubt = parts[0].powi(2) / (runs[0] - 1.0) + parts[1].powi(2) / (runs[1] - 1.0);
    if doubt > 0.0 { (parts[0] + parts[1]).powi(2) / doubt } else { f64::INFINITY }
}

/// If only the first side has several runs.
fn borrowed(spread: f64, known: [f64; 2], runs: [f64; 2]) -> (f64, f64) {
    let between = spread - known[0];
    (spread / runs[0] + (between + known[1]) / runs[1], runs[0] - 1.0)
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
