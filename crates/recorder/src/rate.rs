//! How densely to sample, in the units that people use and in the agents'.

use lifetrace_trace::chance::Chance;
use lifetrace_transport::sources::{SourceName, Unit};

/// Probability that a unit is hit by the sampler, in (0, 1]: an 8-byte word, or what else a runtime's sampler hits.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// Everything is sampled; the trace is exact.
    pub const EXACT: Rate = Rate(1.0);

    /// One hit every `bytes` on average; 1 is exact. `None` for 0.
    pub fn from_interval(bytes: u64) -> Option<Rate> {
        Rate::from_probability_per_byte((bytes as f64).recip())
    }

    /// From the probability that one byte is hit; `None` unless it is in (0, 1].
    ///
    /// A word is hit when any of its eight bytes is.
    pub fn from_probability_per_byte(probability: f64) -> Option<Rate> {
        let per_word = Chance::per_unit(probability).any_of(8.0);
        (probability > 0.0 && probability <= 1.0 && per_word > 0.0).then_some(Rate(per_word))
    }

    /// From the probability that one word is hit; `None` unless it is in (0, 1].
    pub fn from_probability_per_word(probability: f64) -> Option<Rate> {
        (probability > 0.0 && probability <= 1.0).then_some(Rate(probability))
    }

    /// Probability that a word is hit.
    pub fn per_word(self) -> f64 {
        self.0
    }

    /// Bytes from one hit to the next, on average: the inverse of [`from_interval`](Self::from_interval).
    pub fn interval(self) -> f64 {
        Chance::per_unit(self.0).any_of(8.0_f64.recip()).recip()
    }

    /// Probability that a unit is hit, whatever that is.
    pub(crate) fn per_unit(self) -> f64 {
        self.0
    }

    /// Whether everything is sampled.
    pub fn is_exact(self) -> bool {
        self.0 >= 1.0
    }
}

/// How densely each source is sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Malloc and its like.
    pub malloc: Rate,
    /// Malloc, where objects of a managed runtime are hit as a whole beside it.
    malloc_beside_objects: Rate,
    /// The heaps of managed runtimes.
    managed: Vec<(SourceName, Rate)>,
}

impl Rates {
    /// One for all, unless another is said.
    pub fn all(rate: Rate) -> Rates {
        Rates { malloc: rate, malloc_beside_objects: rate, managed: Vec::new() }
    }

    /// With another one for malloc where objects of a managed runtime are hit as a whole beside it: a rate that suits
    /// objects suits no bytes.
    #[must_use]
    pub fn with_malloc_beside_objects(self, rate: Rate) -> Rates {
        Rates { malloc_beside_objects: rate, ..self }
    }

    /// Malloc's, beside that runtime's heap, if there is one.
    pub(crate) fn of_malloc(&self, beside: Option<Unit>) -> Rate {
        if beside == Some(Unit::OBJECT) { self.malloc_beside_objects } else { self.malloc }
    }

    /// With that of a managed runtime's heap.
    #[must_use]
    pub fn with(mut self, runtime: SourceName, rate: Rate) -> Rates {
        self.managed.retain(|(name, _)| *name != runtime);
        self.managed.push((runtime, rate));
        self
    }

    /// That of a managed runtime's heap; malloc's if nothing was said of it.
    pub fn of(&self, runtime: SourceName) -> Rate {
        let known = self.managed.iter().find(|(name, _)| *name == runtime);
        known.map_or(self.malloc, |(_, rate)| *rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certainty_stays_certain() {
        assert_eq!(Rate::from_probability_per_byte(1.0), Some(Rate::EXACT));
        assert_eq!(Rate::from_interval(1), Some(Rate::EXACT));
        assert!(!Rate::from_interval(2).unwrap().is_exact());
    }

    #[test]
    fn small_rates_are_eight_times_the_byte_rate() {
        for probability in [1e-300, 1e-18, 1e-9] {
            let rate = Rate::from_probability_per_byte(probability).unwrap().per_word();
            assert!((rate / (8.0 * probability) - 1.0).abs() < 1e-8, "{probability}: {rate}");
        }
    }

    #[test]
    fn a_middling_rate_agrees_with_the_definition() {
        let rate = Rate::from_probability_per_byte(0.25).unwrap().per_word();
        assert!((rate - (1.0 - 0.75_f64.powi(8))).abs() < 1e-15);
    }

    #[test]
    fn nonsense_is_refused() {
        for probability in [0.0, -0.0, -1.0, 1.5, 3.5, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate::from_probability_per_byte(probability), None, "{probability}");
            assert_eq!(Rate::from_probability_per_word(probability), None, "{probability}");
        }
        assert_eq!(Rate::from_interval(0), None);
    }

    #[test]
    fn an_interval_comes_back() {
        for bytes in [1, 2, 64, 4096, 524_288, 1 << 40] {
            let interval = Rate::from_interval(bytes).unwrap().interval();
            assert!((interval / bytes as f64 - 1.0).abs() < 1e-6, "{bytes}: {interval}");
        }
    }
}
