//! Estimates for people: as many digits as their 95 % interval deserves, and never a false 0.
//!
//! | written | when |
//! |---|---|
//! | `412 ± 9 MiB` | the interval reaches equally far on both sides, to within a fifth |
//! | `2.5 (0.9–5.5) MiB` | it does not, since it rests on few samples |
//! | `< 2.5 MiB` | it reaches down to 0, as far as its digits tell |
//! | `412 MiB` | it is too narrow to be seen |
//!
//! An interval has one digit, or two if the first is small: half its width to within 15 %. What
//! surrounds it is rounded to the same place.

use lifetrace_analysis::statistics::Proportion;
use lifetrace_analysis::{Amount, Estimate, Interval, Sampling};

use super::{BYTE_UNITS, COUNT_UNITS, bytes, count, decimals, rounded, unit};

/// Leading digits from which on one is enough, as the Particle Data Group has it.
const ONE_DIGIT_FROM: f64 = 3.55;

/// Upwards an interval may reach so many times as far as downwards and still be written with ±.
const EVEN: f64 = 1.2;

/// 97.5 % quantile of the normal distribution.
const Z95: f64 = 1.959_963_984_540_054;

/// An estimated size: `412 ± 9 MiB`.
pub fn estimate(estimate: &Estimate) -> String {
    written(estimate, estimate.interval(), &BYTE_UNITS, bytes)
}

/// An estimated amount of memory times time: `4.2 ± 0.3 GiB·s`.
pub fn byte_seconds(estimate: &Estimate) -> String {
    self::estimate(estimate) + "·s"
}

/// An estimated number of objects: `12,300 ± 400`.
pub fn objects(estimate: &Estimate) -> String {
    written(estimate, estimate.interval(), &COUNT_UNITS, count)
}

/// Bytes per hour, with a 95 % interval that is as wide on both sides: `8.2 ± 0.9 MiB/h`; what may be 0
/// is a bound, `< 0.3 MiB/h`, and what falls has a sign.
pub fn per_hour(value: f64, low: f64, high: f64) -> String {
    if !(high - low).is_finite() {
        return "unknown".to_owned();
    }
    let variance = ((high - low) / 2.0 / Z95).powi(2);
    let rate = |value| estimate(&Estimate { value, variance, uncertain: 0.0 }) + "/h";
    if high < 0.0 { format!("−{}", rate(-value)) } else { rate(value) }
}

/// A share: `97.2 %`, or `97 % (90–99 %)` where its interval can be seen.
pub fn proportion(share: &Proportion) -> String {
    let (low, high) = share.interval95();
    if high - low < 0.001 {
        return super::percent(share.value);
    }
    let places = if high - low < 0.02 { 1 } else { 0 };
    let digits = |share: f64| rounded(100.0 * share, places);
    format!("{} % ({}–{} %)", digits(share.value), digits(low), digits(high))
}

/// The bytes of an amount that has all blocks in it, or the bound below which they are if no sample was met and all is
/// heard.
pub fn amount(amount: &Amount, sampling: &Sampling) -> String {
    if amount.samples == 0 && !sampling.hears_all() {
        "none heard".to_owned()
    } else if amount.samples == 0 && !sampling.is_exact() {
        match amount.bytes_interval(sampling).high {
            f64::INFINITY => "none sampled".to_owned(),
            high => format!("none sampled, < {}", bytes(high)),
        }
    } else {
        written(&amount.bytes, amount.heard_bytes(sampling), &BYTE_UNITS, bytes)
    }
}

/// The number of blocks of an amount that has all in it.
pub fn number_of_all(amount: &Amount, sampling: &Sampling) -> String {
    written(&amount.objects, amount.heard_objects(sampling), &COUNT_UNITS, count)
}

/// With this interval, or by itself where that is too narrow to be seen.
fn written(
    estimate: &Estimate,
    interval: Interval,
    units: &[(f64, &'static str)],
    exactly: fn(f64) -> String,
) -> String {
    with_interval(estimate.value, interval, units).unwrap_or_else(|| exactly(estimate.value))
}

/// Nothing if the interval is too narrow to be seen.
fn with_interval(value: f64, interval: Interval, units: &[(f64, &'static str)]) -> Option<String> {
    let half_width = (interval.high - interval.low) / 2.0;
    let (scale, unit_name) = unit(value.max(half_width), units, 1.0);
    let places = places(half_width / scale, scale == 1.0);
    let digits = |number: f64| rounded(number / scale, places);
    let [shown, low, high, half] = [value, interval.low, interval.high, half_width].map(digits);
    if is_zero(&half) {
        None
    } else if interval.low <= 0.0 || is_zero(&low) {
        Some(bound(interval.high, units))
    } else if is_even(value, &interval) {
        Some(format!("{shown} ± {half}{unit_name}"))
    } else {
        Some(format!("{shown} ({low}–{high}){unit_name}"))
    }
}

fn bound(high: f64, units: &[(f64, &'static str)]) -> String {
    let (scale, unit_name) = unit(high, units, 1.0);
    let places = decimals(high / scale, 2);
    let places = if scale == 1.0 { places.min(0) } else { places };
    format!("< {}{unit_name}", rounded(high / scale, places))
}

/// Whether it reaches about equally far on both sides.
fn is_even(value: f64, interval: &Interval) -> bool {
    interval.high - value <= EVEN * (value - interval.low)
}

/// Decimal places of an interval of this half width; bytes and objects have none.
fn places(half_width: f64, is_indivisible: bool) -> i32 {
    let two = decimals(half_width, 2);
    let leading = half_width / 10f64.powf(half_width.log10().floor());
    let places = if leading < ONE_DIGIT_FROM { two } else { decimals(half_width, 1) };
    if is_indivisible { places.min(0) } else { places }
}

fn is_zero(digits: &str) -> bool {
    digits.bytes().all(|byte| !(b'1'..=b'9').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1024.0 * 1024.0;

    fn estimated(value: f64, half_width: f64) -> Estimate {
        let variance = (half_width / Z95).powi(2);
        Estimate { value, variance, uncertain: 0.0 }
    }

    /// Of so many samples that stand for so much each.
    fn counted(samples: f64, each: f64) -> Estimate {
        let value = samples * each;
        Estimate { value, variance: value * each, uncertain: value }
    }

    #[test]
    fn an_estimate_has_the_digits_it_deserves() {
        let check = |value, half_width, expected| {
            assert_eq!(estimate(&estimated(value, half_width)), expected);
        };
        check(412.34 * MIB, 9.1 * MIB, "412 ± 9 MiB");
        check(412.34 * MIB, 2.31 * MIB, "412.3 ± 2.3 MiB");
        check(412.34 * MIB, 91.0 * MIB, "410 ± 90 MiB");
        check(1000.34 * MIB, 912.0 * MIB, "1,000 ± 900 MiB");
        check(2.0 * MIB, 1e-3 * MIB, "2.000 ± 0.001 MiB");
        check(2.0 * MIB, 100.0, "2 MiB");
        check(2048.0, 0.0, "2 KiB");
        check(600.0, 0.3, "600 B");
        check(600.0, 0.6, "600 ± 1 B");
    }

    #[test]
    fn few_samples_are_a_range_and_one_is_a_bound() {
        let check =
            |samples, expected| assert_eq!(estimate(&counted(samples, MIB / 2.0)), expected);
        check(1.0, "< 2.5 MiB");
        check(2.0, "1.0 (0.2–3.3) MiB");
        check(5.0, "2.5 (0.9–5.5) MiB");
        check(20.0, "10 (6–15) MiB");
        check(50.0, "25 (19–33) MiB");
        check(100.0, "50 ± 10 MiB");
        check(120.0, "60 ± 11 MiB");
        check(1000.0, "500 ± 31 MiB");
        check(10_000.0, "4.88 ± 0.10 GiB");
    }

    #[test]
    fn nothing_is_written_as_zero() {
        let tiny = Estimate { value: 1.0, variance: MIB * MIB, uncertain: 0.0 };
        assert_eq!(estimate(&tiny), "< 2.0 MiB");
        assert_eq!(estimate(&estimated(300.0 * 1024.0, 1.2 * MIB)), "< 1.5 MiB");
        assert_eq!(objects(&counted(1.0, 7.0)), "< 35");
        assert_eq!(estimate(&Estimate::default()), "0 B");
    }

    #[test]
    fn rates_have_a_sign_or_a_bound() {
        let check = |value: f64, half: f64, expected| {
            assert_eq!(per_hour(value, value - half, value + half), expected);
        };
        check(8.21 * MIB, 0.91 * MIB, "8.2 ± 0.9 MiB/h");
        check(0.1 * MIB, 0.2 * MIB, "< 310 KiB/h");
        check(-0.1 * MIB, 0.4 * MIB, "< 310 KiB/h");
        check(-8.21 * MIB, 0.91 * MIB, "−8.2 ± 0.9 MiB/h");
        check(0.0, f64::INFINITY, "unknown");
        check(0.0, 0.0, "0 B/h");
    }

    #[test]
    fn shares_have_an_interval_that_can_be_seen() {
        let check = |value, effective_samples, expected| {
            assert_eq!(proportion(&Proportion { value, effective_samples }), expected);
        };
        check(0.972, f64::INFINITY, "97.2 %");
        check(1.0, 20.0, "100 % (84–100 %)");
        check(0.5, 100.0, "50 % (40–60 %)");
        check(0.5, 40_000.0, "50.0 % (49.5–50.5 %)");
    }

    #[test]
    fn counts_are_whole() {
        let check = |value, half_width, expected| {
            assert_eq!(objects(&estimated(value, half_width)), expected);
        };
        check(1_234_567.0, 0.0, "1,234,567");
        check(23_456_789.0, 0.0, "23.5 million");
        check(123_456.0, 1_234.0, "123,500 ± 1,200");
        check(23_456_789.0, 123_456.0, "23.46 ± 0.12 million");
        check(3.0, 1.3, "3 ± 1");
        check(1.001, 0.02, "1");
        check(3.0, 5.6, "< 9");
    }

    #[test]
    fn nothing_sampled_is_not_nothing() {
        let info = lifetrace_trace::event::TraceInfo {
            sample_rate: 1.0 / 65_536.0,
            word_bits: 64,
            executable_name: String::new(),
            host_name: String::new(),
            runtime_params: String::new(),
            pid: 1,
            start_time: lifetrace_trace::ids::Timestamp(0),
            initial_domain: lifetrace_trace::ids::DomainId(0),
            context: None,
        };
        let sampling = Sampling::new(&info).unwrap();
        assert_eq!(amount(&Amount::default(), &sampling), "none sampled, < 1.50 MiB");
        let exact =
            Sampling::new(&lifetrace_trace::event::TraceInfo { sample_rate: 1.0, ..info }).unwrap();
        assert_eq!(amount(&Amount::default(), &exact), "0 B");
    }
}
