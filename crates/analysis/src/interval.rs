//! The 95 % interval around an estimate, also where that rests on a handful of samples.
//!
//! Small blocks are hit like raindrops fall: their number is Poisson-distributed, and each stands for
//! the same amount, so an estimate is a Poisson count times a scale. Its interval is that of the count:
//! skewed, never below 0, and much wider upwards than `± 1.96 standard errors` when the count is small.
//! We take the mid-P interval, which lies between the exact one (Garwood 1936), too wide for few
//! samples, and the normal one, too narrow. Estimates are sums over blocks of different sizes, so the
//! scale and the count are those of the Poisson variable with the same mean and variance (Fay and
//! Feuer 1997 do this for weighted counts): `scale = variance / mean`, `count = mean^2 / variance`.
//!
//! Blocks so large that they are surely hit must not take part in that, or one of them would make the
//! rest look like a large count. [`Estimate::uncertain`] is the mean without them.
//!
//! `docs/sampling.md` has the candidates that were compared, and how often they hold.

use crate::estimate::{Amount, Estimate};
use crate::sampling::Sampling;

/// 97.5 % quantile of the normal distribution.
pub(crate) const Z: f64 = 1.959_963_984_540_054;

/// The 95 % quantile of an exponential variable: nothing is hit in so many mean intervals.
const NONE_IN_INTERVALS: f64 = 2.995_732_273_553_991;

/// No allocator hands out smaller blocks than this, in bytes.
const SMALLEST: f64 = 16.0;

/// From where to where.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether the number is in it.
    pub fn contains(&self, number: f64) -> bool {
        (self.low..=self.high).contains(&number)
    }
}

impl Estimate {
    /// Where the truth is with a confidence of 95 %: 2.5 % are below, 2.5 % above.
    ///
    /// Of an estimate with a variance but nothing [uncertain](Estimate::uncertain), such as a
    /// difference, it is the normal interval. The interval of nothing sampled is 0 to 0: see
    /// [`Amount::bytes_interval`] for that.
    pub fn interval(&self) -> Interval {
        let Self { value, variance, uncertain } = *self;
        if !(variance > 0.0 && uncertain > 0.0) {
            let half = self.interval95();
            return Interval { low: value - half, high: value + half };
        }
        let (scale, count) = (variance / uncertain, uncertain * uncertain / variance);
        let surely = value - uncertain;
        Interval { low: surely + scale * lowest(count), high: surely + scale * highest(count) }
    }

    /// Where the truth is at least as surely as the normal distribution's `below` and `above` standard
    /// errors say, whatever it is, as an alarm needs it: a little wider than
    /// [`interval`](Self::interval) where samples are few.
    ///
    /// It is the exact interval of a Poisson variable (Garwood 1936). Its upper end is that of one
    /// sampled block more, one that stands for `grain`: as much as any may that was not hit (Fay and
    /// Feuer 1997).
    pub(crate) fn exact_interval(&self, below: f64, above: f64, grain: f64) -> Interval {
        let Self { value, variance, uncertain } = *self;
        let surely = value - uncertain;
        let end = |mean: f64, variance: f64, z: f64| match mean > 0.0 && variance > 0.0 {
            true => variance / mean * gamma_quantile(mean * mean / variance, z),
            false => mean,
        };
        Interval {
            low: surely + end(uncertain, variance, -below),
            high: surely + end(uncertain + grain, variance + grain * grain, above),
        }
    }
}

impl Amount {
    /// The interval of the bytes of all blocks that there are, of whatever sizes. Where not all is heard,
    /// there is no upper end.
    pub fn bytes_interval(&self, sampling: &Sampling) -> Interval {
        let heard = self.heard_bytes(sampling);
        if sampling.hears_all() { heard } else { Interval { high: f64::INFINITY, ..heard } }
    }

    /// The interval of the bytes of all blocks that were heard, of whatever sizes: blocks that are surely hit say
    /// nothing of small ones, of which as much may not have been hit as if nothing had been sampled. Of a sampler that
    /// hits objects that cannot be said: it is not taken into account beside others, and where there are no
    /// others and no samples there is no upper end. Nor is there room for what was not hit where only some of the blocks
    /// are looked at.
    pub fn heard_bytes(&self, sampling: &Sampling) -> Interval {
        let seen = self.bytes.interval();
        let surely = self.bytes.value - self.bytes.uncertain;
        let high = |unseen| seen.high.max(surely + unseen);
        Interval { high: self.unseen(sampling).map_or(f64::INFINITY, high), ..seen }
    }

    /// The interval of the number of all blocks that were heard, of whatever sizes: its upper end has those in it that
    /// may not have been hit, as if they were the smallest.
    pub fn heard_objects(&self, sampling: &Sampling) -> Interval {
        let seen = self.objects.interval();
        let high = |unseen| seen.high + unseen / SMALLEST;
        Interval { high: self.unseen(sampling).map_or(f64::INFINITY, high), ..seen }
    }

    /// The bytes that may be there with a confidence of 95 % although none of them was hit; `None` if there is no
    /// knowing.
    fn unseen(&self, sampling: &Sampling) -> Option<f64> {
        match sampling.interval_bytes() {
            _ if sampling.is_exact() => Some(0.0),
            0.0 => (self.samples > 0).then_some(0.0),
            _ if sampling.is_of_some() && self.samples > 0 => Some(0.0),
            interval => Some(NONE_IN_INTERVALS * interval),
        }
    }
}

/// The smallest mean of a Poisson variable with which `count` is not surprisingly high: half of the
/// probability of the count, and that of all higher ones, are 2.5 %. Within 4 % of the scale.
fn lowest(count: f64) -> f64 {
    gamma_quantile(count + 0.5 - 0.24 / count.sqrt(), -Z)
}

/// The greatest mean with which it is not surprisingly low. Within 1 % of the scale.
fn highest(count: f64) -> f64 {
    gamma_quantile(count + 0.5 + 0.22 / (count + 1.3).sqrt(), Z)
}

/// The quantile of a gamma distribution of unit scale that is the normal distribution's `z`, by Wilson
/// and Hilferty (1931). The mid-P ends are such quantiles; their shapes were fitted.
fn gamma_quantile(shape: f64, z: f64) -> f64 {
    if shape <= 0.0 {
        return 0.0;
    }
    let root = 1.0 - 1.0 / (9.0 * shape) + z / (3.0 * shape.sqrt());
    shape * root.max(0.0).powi(3)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn poisson(mean: f64, count: u32) -> f64 {
        (1..=count).fold((-mean).exp(), |product, k| product * mean / f64::from(k))
    }

    /// Probability of fewer than `count`, and half of that of `count`.
    fn below(mean: f64, count: u32) -> f64 {
        let fewer: f64 = (0..count).map(|k| poisson(mean, k)).sum();
        fewer + poisson(mean, count) / 2.0
    }

    fn counted(count: f64) -> Estimate {
        Estimate { value: count, variance: count, uncertain: count }
    }

    #[test]
    fn both_ends_leave_a_fortieth_outside() {
        for count in 1..150 {
            let Interval { low, high } = counted(count.into()).interval();
            let (above, beneath) = (1.0 - below(low, count), below(high, count));
            assert!((above - 0.025).abs() < 0.003, "{count} samples: {above} from {low}");
            assert!((beneath - 0.025).abs() < 0.001, "{count} samples: {beneath} up to {high}");
        }
    }

    #[test]
    fn many_samples_are_normal() {
        let estimate = counted(1e8);
        let (interval, half) = (estimate.interval(), estimate.interval95());
        assert!((interval.low - (1e8 - half)).abs() < half * 1e-3, "{interval:?}");
        assert!((interval.high - (1e8 + half)).abs() < half * 1e-3, "{interval:?}");
    }

    #[test]
    fn what_is_certain_only_shifts() {
        let (few, shift) = (counted(3.0), 1e6);
        let both = Estimate { value: few.value + shift, ..few };
        assert!((both.interval().low - shift - few.interval().low).abs() < 1e-6);
        assert!((both.interval().high - shift - few.interval().high).abs() < 1e-6);
    }

    #[test]
    fn exact_and_absent_amounts_are_points() {
        let exact = Estimate { value: 7.0, ..Estimate::default() };
        assert_eq!(exact.interval(), Interval { low: 7.0, high: 7.0 });
        assert_eq!(Estimate::default().interval(), Interval::default());
    }

    #[test]
    fn a_difference_has_the_normal_interval() {
        let difference = Estimate { value: -3.0, variance: 4.0, uncertain: 0.0 };
        let interval = difference.interval();
        assert!((interval.low + 3.0 + 2.0 * Z).abs() < 1e-9);
        assert!((interval.high + 3.0 - 2.0 * Z).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn the_value_is_within(
            value in 1e-3..1e18,
            relative_error in 1e-9..1e3_f64,
            share in 1e-6..=1.0,
        ) {
            let uncertain: f64 = value * share;
            let variance = (uncertain * relative_error).powi(2);
            let interval = Estimate { value, variance, uncertain }.interval();
            prop_assert!(interval.low >= 0.0 && interval.low <= value, "{interval:?}");
            prop_assert!(interval.high >= value && interval.high.is_finite(), "{interval:?}");
        }

        #[test]
        fn units_do_not_matter(count in 0.5..1e4_f64, scale in 1e-3..1e9_f64) {
            let (plain, scaled) = (counted(count).interval(), Estimate {
                value: count * scale,
                variance: count * scale * scale,
                uncertain: count * scale,
            }.interval());
            prop_assert!((plain.low * scale - scaled.low).abs() <= 1e-9 * scale * count);
            prop_assert!((plain.high * scale - scaled.high).abs() <= 1e-9 * scale * count);
        }
    }
}
