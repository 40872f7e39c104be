//! The numbers of a heap's blocks: estimates, and whole numbers that add up.
//!
//! A sampled block stands for as many as the inverse of its chance to be sampled (Horvitz and Thompson,
//! 1952).

use lifetrace_recorder::heap::{Blocks, Snapshot, Sum};
use lifetrace_trace::chance::Chance;
use lifetrace_trace::event::Source;
use lifetrace_trace::fact::{SampledUnit, Sampler};

use crate::whole::{TooLarge, apportion};

/// How many numbers there are: allocated objects and bytes, objects and bytes in use.
pub(crate) const NUMBERS: usize = 4;

/// Bytes of a word.
const WORD: u64 = 8;

/// What all blocks of a snapshot amount to: allocated objects and bytes, objects and bytes in use.
pub fn totals(snapshot: &Snapshot) -> [f64; NUMBERS] {
    snapshot.blocks.iter().fold([0.0; NUMBERS], |mut sums, blocks| {
        let values = estimates(blocks, snapshot);
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        sums
    })
}

/// For each of the snapshot's blocks its numbers, whole ones that add up; the columns' names are for errors.
pub(crate) fn rows(
    snapshot: &Snapshot,
    names: [&str; NUMBERS],
) -> Result<Vec<[i64; NUMBERS]>, TooLarge> {
    let estimates: Vec<_> = snapshot.blocks.iter().map(|it| estimates(it, snapshot)).collect();
    let mut rows = vec![[0; NUMBERS]; estimates.len()];
    for (column, name) in names.into_iter().enumerate() {
        let values: Vec<f64> = estimates.iter().map(|row| row[column]).collect();
        for (row, value) in rows.iter_mut().zip(signed(name, &values)?) {
            row[column] = value;
        }
    }
    Ok(rows)
}

/// Bytes that one took at its birth, a runtime's header included.
pub(crate) fn held(blocks: &Blocks, snapshot: &Snapshot) -> u64 {
    blocks.mean_bytes + header(blocks, snapshot)
}

/// Whether blocks are hit as a whole, each with the same probability.
pub(crate) fn hits_objects(snapshot: &Snapshot) -> bool {
    !snapshot.samplers.is_empty()
        && snapshot.samplers.iter().all(|it| it.unit == SampledUnit::Object)
}

/// Bytes, or objects, between two samples, on average, of the thinnest sampler.
pub(crate) fn longest_interval(snapshot: &Snapshot) -> f64 {
    let one = if hits_objects(snapshot) { 1.0 } else { WORD as f64 };
    snapshot.samplers.iter().map(|it| one / it.rate).fold(one, f64::max)
}

/// In the order of the columns.
fn estimates(blocks: &Blocks, snapshot: &Snapshot) -> [f64; NUMBERS] {
    let (header, chance) = (header(blocks, snapshot), chance(blocks, snapshot));
    let objects = |sum: Sum| if blocks.is_growth { 0.0 } else { sum.blocks as f64 / chance };
    let bytes = |sum: Sum| (sum.bytes as f64 + (sum.blocks * header) as f64) / chance;
    let (allocated, freed) = (blocks.allocated, blocks.freed);
    let live = allocated.blocks as f64 - freed.blocks as f64;
    [
        objects(allocated),
        bytes(allocated),
        objects(allocated) - objects(freed),
        (blocks.taken as f64 + live * header as f64) / chance,
    ]
}

fn sampler<'a>(blocks: &Blocks, snapshot: &'a Snapshot) -> Option<&'a Sampler> {
    snapshot.samplers.get(blocks.sampler)
}

fn unit(blocks: &Blocks, snapshot: &Snapshot) -> SampledUnit {
    sampler(blocks, snapshot).map_or(SampledUnit::Word, |it| it.unit)
}

/// That one of them is sampled.
fn chance(blocks: &Blocks, snapshot: &Snapshot) -> f64 {
    let Some(sampler) = sampler(blocks, snapshot) else { return 1.0 };
    let words = held(blocks, snapshot).div_ceil(WORD).max(1) as f64;
    match sampler.unit {
        SampledUnit::Object => sampler.rate,
        SampledUnit::Byte | SampledUnit::Word => Chance::per_unit(sampler.rate).any_of(words),
    }
}

/// Bytes of a block's header: of those in managed heaps of which words are hit.
fn header(blocks: &Blocks, snapshot: &Snapshot) -> u64 {
    match (blocks.source, unit(blocks, snapshot)) {
        (Source::Minor | Source::Major, SampledUnit::Word) => WORD,
        _ => 0,
    }
}

/// Whole numbers that add up, above zero and below.
fn signed(what: &str, values: &[f64]) -> Result<Vec<i64>, TooLarge> {
    let part = |sign: f64| -> Result<_, TooLarge> {
        let part: Vec<f64> = values.iter().map(|value| (sign * value).max(0.0)).collect();
        apportion(what, &part)
    };
    let pairs = part(1.0)?.into_iter().zip(part(-1.0)?);
    Ok(pairs.map(|(more, less)| more as i64 - less as i64).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_signs_add_up(values in prop::collection::vec(-1e6..1e6f64, 0..500)) {
            let whole = signed("x", &values).unwrap();
            for (value, whole) in values.iter().zip(&whole) {
                prop_assert!((value - *whole as f64).abs() < 1.0);
            }
            let (sum, exact) = (whole.iter().sum::<i64>() as f64, values.iter().sum::<f64>());
            prop_assert!((sum - exact).abs() <= 1.0 + 1e-6);
        }
    }
}
