//! A curve of lifetimes, cut into classes.

use lifetrace_analysis::statistics::Unit;
use lifetrace_analysis::statistics::survival::{Curve, Survival};

/// Blocks with lifetimes of `least` to `most`, both included; of collections or microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    pub least: u64,
    pub most: u64,
    /// Of all objects, and of all bytes.
    pub shares: [f64; 2],
}

/// All lifetimes, and the shares of what lives longer than anything was watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    pub classes: Vec<Class>,
    pub longer: [f64; 2],
    /// The greatest age that was seen.
    pub watched: u64,
}

impl Spread {
    /// In classes that begin at these values, from the first that has anything to the last.
    pub fn of(survival: &Survival, begins: &[u64]) -> Option<Self> {
        let curves = [Unit::Objects, Unit::Bytes].map(|unit| survival.curve(unit));
        let watched = curves[1].watched()?;
        let ends = begins.iter().skip(1).map(|next| next - 1).chain([u64::MAX]);
        let class = |(&least, most): (&u64, u64)| {
            let share = |curve: &Curve| within(curve, most) - before(curve, least);
            let shares = [share(&curves[0]), share(&curves[1])];
            Class { least, most, shares }
        };
        let classes: Vec<_> = begins.iter().zip(ends).map(class).collect();
        let has_any = |class: &Class| class.shares.iter().any(|&share| share > 0.0);
        let first = classes.iter().position(has_any).unwrap_or(classes.len());
        let last = classes.iter().rposition(has_any).map_or(first, |last| last + 1);
        let longer = [0, 1].map(|unit| longer(&curves[unit]));
        Some(Self { classes: classes[first..last].to_vec(), longer, watched })
    }
}

fn within(curve: &Curve, age: u64) -> f64 {
    curve.dying_within(age).map_or(0.0, |share| share.value)
}

fn before(curve: &Curve, age: u64) -> f64 {
    age.checked_sub(1).map_or(0.0, |earlier| within(curve, earlier))
}

/// Nothing is longer where nothing was counted.
fn longer(curve: &Curve) -> f64 {
    let all = curve.watched().and_then(|age| curve.living_longer(age));
    all.map_or(0.0, |share| share.value).clamp(0.0, 1.0)
}

/// 0, 1, 3, 10, 30...: to the eye equal steps.
pub fn times() -> Vec<u64> {
    let powers = (0..18).map(|power| 10_u64.pow(power));
    std::iter::once(0).chain(powers.flat_map(|ten| [ten, 3 * ten])).collect()
}

/// 0, 1, 2, 4, 8...
pub fn counts() -> Vec<u64> {
    std::iter::once(0).chain((0..63).map(|power| 1 << power)).collect()
}
