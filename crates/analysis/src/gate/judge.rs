//! Whether a condition is true, and whether that is more than noise.
//!
//! A gate is an alarm, so its intervals must not be too narrow, not even for few samples: they are the
//! exact ones ([`crate::Estimate::exact_interval`]), a little wider than a report's where samples are few.
//!
//! **Peak.** The highest of many estimates is more likely too high than too low, the more so the more
//! often the live blocks were replaced by others. With `k` such turnovers the largest deviation of a
//! stationary normal process whose correlation falls linearly at first exceeds `z` with a probability
//! of about `Q(z) + k z phi(z)` (Pickands 1969). The lower end is at the `z` at which that is 2.5 %;
//! `k` is the variance of all that was allocated over that of the peak. That is cautious: blocks that
//! come and go far from the peak count too.
//!
//! **Growth.** The rate of the later half, with the interval that
//! [`growth`](crate::statistics::growth) gives it. A plateau, and what was built up at the start, does
//! not grow whatever the slope; only a line or steps are surely growth. Many programs free all that
//! they have before they exit, leaks too: what comes after they begin to is left out
//! ([`Lives::before_teardown`]).
//!
//! **Changes.** Absolute: the interval of the [difference](Change::interval). Relative: that of the
//! [ratio](Change::ratio_interval), so the error of what was before counts too.

use lifetrace_trace::ids::Timestamp;

use super::{ChangeGate, Gate, Measure};
use crate::estimate::Amount;
use crate::history::Block;
use crate::interval::{Interval, Z};
use crate::replay::{Death, Observer};
use crate::sampling::Sampling;
use crate::statistics::distribution::two_sided_p;
use crate::statistics::{Change, Growth, Lives, Shape};
use crate::summary::Summary;

/// What was found of a condition, in its unit: bytes, objects, bytes an hour, or a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// The estimate.
    pub value: f64,
    /// Where the truth is, but for 2.5 % on each side; the ends may be infinite.
    pub interval: Interval,
    /// Whether the estimate is beyond the limit.
    pub is_beyond: bool,
    /// Whether the truth surely is.
    pub is_significant: bool,
    /// Of growth: of what kind it is.
    pub shape: Option<Shape>,
}

impl Finding {
    /// Whether the build fails; if it is `strict` the estimate alone decides.
    pub fn fails(&self, strict: bool) -> bool {
        if strict { self.is_beyond } else { self.is_significant }
    }
}

impl Gate {
    /// Judges what a trace amounts to. `growth` is that of the [whole program](WholeProgram); nothing if
    /// nothing was seen to live for long, or if it was not looked at.
    pub fn judge(&self, summary: &Summary, growth: Option<&Growth>) -> Finding {
        if self.measure == Measure::Growth {
            return self.judge_growth(growth, &summary.sampling);
        }
        let (value, interval) = measured(self.measure, summary);
        self.finding(value, open_ended(interval, &summary.sampling))
    }

    fn judge_growth(&self, growth: Option<&Growth>, sampling: &Sampling) -> Finding {
        let everywhere = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
        let Some(growth) = growth else { return self.finding(0.0, everywhere) };
        let (rate, shape) = (growth.rate, growth.shape);
        let is_level = matches!(shape, Shape::Plateau | Shape::StartUp);
        let value = if is_level { 0.0 } else { rate.per_hour };
        let interval = Interval {
            low: if is_level { rate.low.min(0.0) } else { rate.low },
            high: if is_level { rate.high.max(0.0) } else { rate.high },
        };
        let finding = self.finding(value, open_ended(interval, sampling));
        let is_told = !self.op.is_upwards() || matches!(shape, Shape::Line | Shape::Steps);
        let is_significant = finding.is_significant && is_told;
        Finding { is_significant, shape: Some(shape), ..finding }
    }

    fn finding(&self, value: f64, interval: Interval) -> Finding {
        let limit = self.limit();
        let end = if self.op.is_upwards() { interval.low } else { interval.high };
        Finding {
            value,
            interval,
            is_beyond: self.op.is_true(value, limit),
            is_significant: self.op.is_true(end, limit),
            shape: None,
        }
    }
}

impl ChangeGate {
    /// Judges a change of what the gate is about.
    pub fn judge(&self, change: &Change) -> Finding {
        let (value, interval) = if self.is_relative() {
            let Interval { low, high } = change.ratio_interval();
            (change.ratio() - 1.0, Interval { low: low - 1.0, high: high - 1.0 })
        } else {
            (change.absolute(), change.interval())
        };
        let limit = self.limit();
        let end = if self.op.is_upwards() { interval.low } else { interval.high };
        Finding {
            value,
            interval,
            is_beyond: self.op.is_true(value, limit),
            is_significant: self.op.is_true(end, limit),
            shape: None,
        }
    }
}

/// Where not all is heard, there may be any amount beside.
fn open_ended(interval: Interval, sampling: &Sampling) -> Interval {
    if sampling.hears_all() { interval } else { Interval { high: f64::INFINITY, ..interval } }
}

/// The estimate, and where the truth is.
fn measured(measure: Measure, summary: &Summary) -> (f64, Interval) {
    let Summary { allocated, live, peak, .. } = summary;
    let (estimate, z) = match measure {
        Measure::Objects => (allocated.objects, Z),
        Measure::Allocated => (allocated.bytes, Z),
        Measure::Peak => (peak.amount.bytes, z_of_peak(allocated, &peak.amount)),
        Measure::Live | Measure::Leaked | Measure::Growth => (live.bytes, Z),
    };
    (estimate.value, estimate.exact_interval(z, Z, grain(measure, summary)))
}

/// The most that a block stands for which might well be missed: those objects are the most that are
/// the smallest.
fn grain(measure: Measure, summary: &Summary) -> f64 {
    const SMALLEST_BLOCK: f64 = 8.0;
    let Summary { sampling, allocated, .. } = summary;
    let objects = sampling.interval_objects();
    match (measure, sampling.is_exact()) {
        (_, true) => 0.0,
        (Measure::Objects, false) => {
            (sampling.interval_bytes() / SMALLEST_BLOCK).max(objects).max(1.0)
        }
        (_, false) => sampling.grain_bytes(allocated),
    }
}

/// How far below its estimate a peak is at most, in standard errors.
fn z_of_peak(allocated: &Amount, peak: &Amount) -> f64 {
    let turnovers = allocated.bytes.variance / peak.bytes.variance;
    z_of_highest(if turnovers.is_finite() { turnovers.max(1.0) } else { 1.0 })
}

/// What the largest deviation is beyond with a probability of 2.5 %.
fn z_of_highest(turnovers: f64) -> f64 {
    const SURELY_BELOW: f64 = 40.0;
    let density = |z: f64| (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let exceeded = |z: f64| two_sided_p(z, f64::INFINITY) / 2.0 + turnovers * z * density(z);
    let (mut low, mut high) = (Z, SURELY_BELOW);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if exceeded(middle) > 0.025 { low = middle } else { high = middle }
    }
    high
}

/// All blocks in time: what the growth of the whole program is judged from.
#[derive(Clone, Debug)]
pub struct WholeProgram {
    start: Timestamp,
    end: Timestamp,
    lives: Lives,
}

impl WholeProgram {
    /// Of a trace that starts then.
    pub fn new(start: Timestamp) -> Self {
        Self { start, end: start, lives: Lives::default() }
    }

    /// Nothing if nothing was seen to live for long. What the program gives back before it ends is taken
    /// to live on.
    pub fn growth(&self) -> Option<Growth> {
        let (lives, end) = self.lives.before_teardown(self.since_start(self.end));
        Growth::of(&lives, end)
    }

    fn add(&mut self, block: &Block, died: Option<Timestamp>) {
        let weight = block.weight.estimate(block.bytes as f64);
        let died = died.map(|time| self.since_start(time));
        self.lives.add(self.since_start(block.born), died, &weight);
    }

    fn since_start(&self, time: Timestamp) -> u64 {
        time.0.saturating_sub(self.start.0)
    }
}

impl Observer for WholeProgram {
    fn died(&mut self, block: &Block, death: Death) {
        self.add(block, Some(death.time));
    }

    fn survived(&mut self, block: &Block, _end: Timestamp) {
        self.add(block, None);
    }

    fn ended(&mut self, end: Timestamp) {
        self.end = end;
    }
}
