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

#[cfg(test)]
mod tests {
    use lifetrace_analysis::Weight;
    use lifetrace_analysis::statistics::Mass;

    use super::*;

    /// Ages, and whether that was the end of a life; all blocks have a byte for each number before them.
    fn survival(ages: &[(u64, bool)]) -> Survival {
        let mut survival = Survival::default();
        for (bytes, &(age, died)) in (1..).zip(ages) {
            let take = if died { Survival::died } else { Survival::survived };
            take(&mut survival, age, &Mass::of_block(&Weight::ONE.tally(bytes).amount()));
        }
        survival
    }

    #[test]
    fn classes_have_what_dies_in_them() {
        let ages = [(0, true), (2, true), (3, true), (9, true), (100, true)];
        let spread = Spread::of(&survival(&ages), &times()).unwrap();
        let classes: Vec<_> = spread.classes.iter().map(|it| (it.least, it.most)).collect();
        assert_eq!(classes, [(0, 0), (1, 2), (3, 9), (10, 29), (30, 99), (100, 299)]);
        let close = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
        for (class, objects, bytes) in [(0, 1.0, 1.0), (1, 1.0, 2.0), (2, 2.0, 7.0), (5, 1.0, 5.0)]
        {
            let [of_objects, of_bytes] = spread.classes[class].shares;
            assert!(close(of_objects, objects / 5.0) && close(of_bytes, bytes / 15.0), "{class}");
        }
        assert_eq!((spread.longer, spread.watched), ([0.0; 2], 100));
    }

    #[test]
    fn what_outlives_all_that_was_watched_is_longer() {
        let half = Spread::of(&survival(&[(5, true), (50, false)]), &times()).unwrap();
        assert_eq!((half.longer[0], half.watched), (0.5, 50));
        let all = Spread::of(&survival(&[(50, false)]), &counts()).unwrap();
        assert_eq!((all.classes.len(), all.longer), (0, [1.0; 2]));
        assert_eq!(Spread::of(&Survival::default(), &times()), None);
    }

    #[test]
    fn classes_follow_each_other() {
        for begins in [times(), counts()] {
            assert!(begins.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
