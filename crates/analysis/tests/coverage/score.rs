//! How often intervals contain the truth.

use lifetrace_analysis::{Estimate, Interval};

/// Of 1000 runs and more, an honest interval is outside these bounds once in some hundreds of tests
/// (2.9 sigma); with these seeds it is not.
pub const COVERAGE: std::ops::RangeInclusive<f64> = 0.93..=0.97;

/// Also how far the mean of the estimates is from the truth, in standard errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Score {
    pub cases: u64,
    below: u64,
    above: u64,
    deviation: f64,
    variance: f64,
}

impl Score {
    pub fn add(&mut self, estimate: &Estimate, truth: f64) {
        self.add_within(estimate, estimate.interval(), truth);
    }

    /// Of an estimate whose interval is this one.
    pub fn add_within(&mut self, estimate: &Estimate, interval: Interval, truth: f64) {
        let rounding = 1e-9 * truth;
        self.cases += 1;
        self.below += u64::from(truth < interval.low - rounding);
        self.above += u64::from(truth > interval.high + rounding);
        self.deviation += estimate.value - truth;
        self.variance += estimate.variance;
    }

    pub fn coverage(&self) -> f64 {
        1.0 - (self.below + self.above) as f64 / self.cases as f64
    }

    /// How often the truth is above the upper end.
    pub fn above(&self) -> f64 {
        self.above as f64 / self.cases as f64
    }

    /// How far estimates are too high on average, in standard errors of one of them.
    pub fn shift(&self) -> f64 {
        self.bias() / (self.cases as f64).sqrt()
    }

    /// How far the mean of the estimates is too high, in its standard errors.
    pub fn bias(&self) -> f64 {
        self.deviation / self.variance.sqrt()
    }

    pub fn print(&self, what: &str) {
        let percent = |count: u64| 100.0 * count as f64 / self.cases as f64;
        println!(
            "{what}: {:.1} % of {} ({:.1} % below, {:.1} % above), {:+.2} standard errors",
            100.0 * self.coverage(),
            self.cases,
            percent(self.below),
            percent(self.above),
            self.shift(),
        );
    }

    pub fn check(&self, what: &str) {
        self.print(what);
        assert!(self.cases >= 1000, "{what}: only {} cases", self.cases);
        assert!(COVERAGE.contains(&self.coverage()), "{what}: {}", self.coverage());
    }

    pub fn check_unbiased(&self, what: &str) {
        assert!(self.bias().abs() < 4.0, "{what}: off by {} standard errors", self.bias());
    }
}
