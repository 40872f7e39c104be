//! Which samples stay where a page cannot have all: those that a sampler with a lower rate would have hit.
//!
//! ```text
//!   a block of u units:   in the trace    p  = 1 - (1 - r)^u
//!                         in the page     p' = 1 - (1 - s r)^u       so it stays with p'/p, and stands for 1/p'
//! ```
//!
//! The share s is one for all samplers: the largest with which not too many blocks are expected to stay.

use anyhow::Context;
use lifetrace_analysis::sampling::Draw;
use lifetrace_analysis::{Sampling, Weight};
use lifetrace_study::Study;
use lifetrace_study::open::Backtraces;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::record::{Birth, RecordKind};
use rustc_hash::FxHashMap;

/// A page has no more samples, unless somebody says otherwise.
pub const MOST_SAMPLES: u64 = 1_000_000;

/// Which ones stay is the same each time.
const SEED: u64 = 0x6c69_6665_7472_6163;

/// So many standard deviations the number that stays lies below the limit.
const SIGMAS: f64 = 4.0;

/// Halvings of an interval of shares.
const STEPS: usize = 60;

/// Draws samples that stay.
#[derive(Clone, Debug)]
pub struct Thinning {
    share: f64,
    random: fastrand::Rng,
}

impl Thinning {
    /// Of a trace, if it has more than so many samples. Reads it once more, without backtraces.
    ///
    /// # Errors
    /// If it cannot be read any more.
    pub fn of(study: &Study, most: u64) -> anyhow::Result<Option<Self>> {
        if study.reading.profile.replay().counts().samples <= most {
            return Ok(None);
        }
        let share = share(&draws(study)?, most as f64);
        Ok(Some(Self::with_share(share)))
    }

    /// So large a part of the rate is left.
    pub fn with_share(share: f64) -> Self {
        Self { share, random: fastrand::Rng::with_seed(SEED) }
    }

    /// How much of the rate is left.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Whether a block stays, and what it stands for then.
    pub fn draw(&mut self, birth: &Birth, sampling: &Sampling) -> Option<Weight> {
        let draw = sampling.draw(birth);
        let included = draw.thinned(self.share).inclusion();
        let stays = included / draw.inclusion();
        (self.random.f64() < stays).then(|| Weight::of_inclusion(included))
    }
}

/// How the blocks of a trace were drawn, and how many were drawn so.
type Draws = FxHashMap<(u64, u64), u64>;

fn draws(study: &Study) -> anyhow::Result<Draws> {
    let mut trace = study.again(Backtraces::Skip)?;
    let mut sampling = Sampling::new(trace.info()).context("a trace that made sense before")?;
    let mut draws = Draws::default();
    while let Some(record) = trace.next_record() {
        match &record.kind {
            RecordKind::Birth(birth) => {
                let Draw { rate, units } = sampling.draw(birth);
                *draws.entry((rate.to_bits(), units)).or_default() += 1;
            }
            RecordKind::Fact(fact) => {
                if let Fact::Sampler(sampler) = &**fact {
                    // What makes no sense is ignored, as it was when the trace was read.
                    let _ = sampling.set(sampler);
                }
            }
            RecordKind::Promotion(_) | RecordKind::Collection(_) => {}
        }
    }
    Ok(draws)
}

/// The largest with which at most so many blocks are expected, and hardly ever more.
fn share(draws: &Draws, most: f64) -> f64 {
    let wanted = most - SIGMAS * most.sqrt();
    let (mut low, mut high) = (f64::MIN_POSITIVE.ln(), 0.0);
    for _ in 0..STEPS {
        let middle: f64 = f64::midpoint(low, high);
        match expected(draws, middle.exp()) > wanted {
            true => high = middle,
            false => low = middle,
        }
    }
    low.exp()
}

fn expected(draws: &Draws, share: f64) -> f64 {
    let stays = |(&(rate, units), &count): (&(u64, u64), &u64)| {
        let draw = Draw { rate: f64::from_bits(rate), units };
        count as f64 * draw.thinned(share).inclusion() / draw.inclusion()
    };
    draws.iter().map(stays).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_the_largest_that_fits() {
        let all = |counts: &[(f64, u64, u64)]| {
            Draws::from_iter(
                counts.iter().map(|&(rate, units, count)| ((rate.to_bits(), units), count)),
            )
        };
        // Small blocks: in proportion.
        let small = all(&[(1e-6, 4, 1_000_000)]);
        let found = share(&small, 1e5);
        assert!((found / 0.0987 - 1.0).abs() < 1e-2, "{found}");
        // Of blocks that are surely hit more stay than of others.
        let mixed = all(&[(1e-4, 10_000_000, 60_000), (1e-4, 2, 1_000_000)]);
        let found = share(&mixed, 1e5);
        assert!(expected(&mixed, found) <= 1e5 && expected(&mixed, found) > 0.98e5);
        assert!(found < 0.05);
        // Even if these alone are too many.
        let large = all(&[(1.0, 1 << 40, 1_000_000)]);
        let found = share(&large, 1e5);
        assert!(expected(&large, found) <= 1e5 && found < 1e-10, "{found}");
    }
}
