//! Where there are too many blocks, one stands for 16 like it, or 256, and so on.
//!
//! What a batch can't make of these is made of smaller ones, down to single blocks, so that sums are
//! right. A trace says it as sampling: a block that stands for n was in it with probability 1/n.

use std::io;

use lifetrace_trace::fact::SampledUnit;
use lifetrace_trace::ids::SamplerId;

use super::super::scribe::Scribe;
use super::Misfits;
use super::batches::Batch;

/// Four bits a level.
const LEVELS: u8 = 16;

/// No level, but that of single blocks where those of the first are sampled.
pub const EXACT: u8 = LEVELS;

/// The sampler of a level; single blocks are not sampled.
pub fn sampler(level: u8) -> SamplerId {
    SamplerId(level)
}

/// How many blocks one stands for.
pub fn weight(level: u8) -> u64 {
    1 << (4 * u32::from(level))
}

/// Fewer blocks that stand for these, if there are more than so many.
pub fn thin_out(batches: Vec<Batch>, most: u64, misfits: &mut Misfits) -> Vec<Batch> {
    let highest = (0..LEVELS).find(|level| {
        let made = batches.iter().map(|batch| u128::from(made(batch.blocks, *level)));
        made.sum::<u128>() <= u128::from(most)
    });
    // With the highest one a batch makes a few hundred blocks.
    let highest = highest.unwrap_or(LEVELS - 1);
    if highest == 0 {
        return batches;
    }
    misfits.weight = weight(highest);
    batches.iter().flat_map(|batch| at_levels(*batch, highest)).collect()
}

/// Tells what the levels that occur stand for.
///
/// # Errors
/// Those of the output.
pub fn declare(batches: &[Batch], scribe: &mut Scribe<'_>) -> io::Result<()> {
    for level in 1..LEVELS {
        if batches.iter().any(|batch| batch.level == level) {
            scribe.sampler(sampler(level), SampledUnit::Object, 1.0 / weight(level) as f64)?;
        }
    }
    Ok(())
}

fn at_levels(batch: Batch, highest: u8) -> impl Iterator<Item = Batch> {
    let counts = (0..=highest).map(move |level| (level, digit(batch.blocks, level, highest)));
    let some = counts.filter(|(_, blocks)| *blocks > 0);
    some.map(move |(level, blocks)| Batch { blocks, level, ..batch })
}

/// How many blocks of a level there are.
fn digit(blocks: u64, level: u8, highest: u8) -> u64 {
    let at_least = blocks >> (4 * u32::from(level));
    if level == highest { at_least } else { at_least & 15 }
}

/// How many blocks are made.
fn made(blocks: u64, highest: u8) -> u64 {
    (0..=highest).map(|level| digit(blocks, level, highest)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::batches::Life;
    use super::*;

    fn batch(point: usize, blocks: u64) -> Batch {
        let life = Life::To { birth: 0, death: None };
        Batch { point, blocks, size: 8, is_growth: false, level: 0, life }
    }

    proptest! {
        #[test]
        fn nothing_is_lost(
            counts in proptest::collection::vec(prop_oneof![0..100_u64, 0..u64::MAX], 1..8),
            most in 2000..5000_u64,
        ) {
            let batches: Vec<_> = counts.iter().enumerate().map(|(n, blocks)| batch(n, *blocks)).collect();
            let mut misfits = Misfits::default();
            let fewer = thin_out(batches, most, &mut misfits);
            prop_assert!(fewer.iter().map(|it| it.blocks).sum::<u64>() <= most);
            for (point, blocks) in counts.into_iter().enumerate() {
                let same = fewer.iter().filter(|batch| batch.point == point);
                let sum: u128 = same.map(|it| u128::from(it.blocks) * u128::from(weight(it.level))).sum();
                prop_assert_eq!(sum, u128::from(blocks));
            }
        }
    }

    #[test]
    fn few_blocks_stay_as_they_are() {
        let batches = vec![batch(0, 7), batch(1, 93)];
        assert_eq!(thin_out(batches.clone(), 100, &mut Misfits::default()), batches);
        assert_ne!(thin_out(batches.clone(), 99, &mut Misfits::default()), batches);
    }
}
