//! How fast several places grow together.
//!
//! The rate is the sum of theirs. Its interval is that of independent places (the squares of the half
//! widths add up), but not narrower than that of all their blocks taken as one place: what several
//! places allocate for the same request grows by fits and starts together. Where places began to
//! grow at different times their common live bytes are no straight line, and the interval is wider
//! than it need be.

use super::growth::{Fill, Growth};
use super::lives::Lives;
use crate::estimate::Estimate;

/// A rate of growth of several places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Together {
    /// Bytes per hour.
    pub per_hour: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

impl Together {
    /// Of these places, in a trace that is `end` microseconds long. `None` without any.
    pub fn of<'l>(
        places: impl IntoIterator<Item = (&'l Lives, &'l Growth)>,
        end: u64,
    ) -> Option<Self> {
        let (mut all, mut per_hour, mut squares) = (None::<Lives>, 0.0, 0.0);
        for (lives, growth) in places {
            match &mut all {
                Some(all) => *all += lives,
                None => all = Some(lives.clone()),
            }
            per_hour += growth.rate.per_hour;
            squares += half(growth).powi(2);
        }
        let one = Growth::of(&all?, end).map_or(0.0, |growth| half(&growth));
        let half = squares.sqrt().max(one);
        Some(Self { per_hour, low: per_hour - half, high: per_hour + half })
    }

    /// When they have filled what `live` leaves of `limit`, if nothing else grows. Both intervals are
    /// taken at their ends, so the time is in its own with more than 95 %.
    pub fn fills(&self, live: &Estimate, limit: f64) -> Fill {
        let interval = live.interval();
        let hours = |live: f64, rate: f64| {
            let missing = (limit - live).max(0.0);
            (rate > 0.0).then(|| missing / rate).or((missing == 0.0).then_some(0.0))
        };
        Fill {
            hours: hours(live.value, self.per_hour),
            earliest: hours(interval.high, self.high),
            latest: hours(interval.low, self.low),
        }
    }
}

fn half(growth: &Growth) -> f64 {
    growth.rate.high - growth.rate.per_hour
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::simulation::{Random, amount, at_most, inclusion};

    const HOUR: f64 = 3.6e9;
    const BYTES: f64 = 1000.0;
    const PLACES: usize = 3;
    const REQUESTS: f64 = 500.0;

    /// Requests at random times, each of which leaks so many blocks at each place that is drawn for it.
    fn leak(random: &mut Random, is_common: bool, interval: f64) -> Vec<Lives> {
        let mut places = vec![Lives::default(); PLACES];
        let p = inclusion(BYTES, interval);
        let requests = if is_common { REQUESTS } else { REQUESTS * PLACES as f64 };
        let mut now = 0.0;
        loop {
            now += random.waiting(HOUR / requests);
            if now >= 2.0 * HOUR {
                return places;
            }
            let one = random.below(PLACES as u64) as usize;
            let blocks = random.below(21);
            for place in if is_common { 0..PLACES } else { one..one + 1 } {
                let sampled = random.binomial(blocks, p);
                let weight = amount(BYTES, p).bytes;
                (0..sampled).for_each(|_| places[place].add(now as u64, None, &weight));
            }
        }
    }

    #[test]
    fn intervals_hold_the_rate_of_places_that_leak_together_and_apart() {
        const RUNS: usize = 400;
        let truth = REQUESTS * PLACES as f64 * 10.0 * BYTES;
        for (is_common, interval) in
            [(true, 1.0), (false, 1.0), (true, 20_000.0), (false, 20_000.0)]
        {
            let (mut missed, mut width) = (0, 0.0);
            for seed in 0..RUNS as u64 {
                let places = leak(&mut Random::new(seed), is_common, interval);
                let end = 2.0 * HOUR;
                let growths: Vec<_> =
                    places.iter().map(|lives| Growth::of(lives, end as u64).unwrap()).collect();
                let together = Together::of(places.iter().zip(&growths), end as u64).unwrap();
                missed += usize::from(!(together.low..=together.high).contains(&truth));
                width += (together.high - together.low) / 2.0 / RUNS as f64;
            }
            assert!(at_most(missed, RUNS, 0.05), "{is_common} {interval}: {missed}");
            assert!(width < truth * 0.35, "{is_common} {interval}: {width}");
        }
    }

    #[test]
    fn what_is_left_is_filled_at_that_rate() {
        let together = Together { per_hour: 100.0, low: 50.0, high: 200.0 };
        let live = Estimate { value: 1000.0, variance: 0.0, uncertain: 0.0 };
        let fill = together.fills(&live, 2000.0);
        assert_eq!((fill.hours, fill.earliest, fill.latest), (Some(10.0), Some(5.0), Some(20.0)));
        let full = together.fills(&live, 500.0);
        assert_eq!((full.hours, full.earliest, full.latest), (Some(0.0), Some(0.0), Some(0.0)));
        let maybe = Together { low: -5.0, ..together }.fills(&live, 2000.0);
        assert_eq!((maybe.earliest, maybe.latest), (Some(5.0), None));
        assert_eq!(Together::of([], 7), None);
    }
}
