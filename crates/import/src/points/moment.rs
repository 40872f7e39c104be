//! Blocks without times: those that were freed are born and die, one after another, and then come
//! those that live.
//!
//! Of a sampled profile the samples are made again. Its writer counted `n / p` for `n` samples, with
//! `p` the probability that a block of their size is sampled; so does who reads our trace.

use std::io;

use lifetrace_trace::chance::Chance;
use lifetrace_trace::fact::SampledUnit;
use lifetrace_trace::ids::Bytes;

use super::super::fault::Failure;
use super::super::scribe::{FIRST, NewBlock, Path, Scribe};
use super::batches::{Batch, Life, split};
use super::lifetimes::Share;
use super::schedule::{Backtraces, Outcome};
use super::{Amount, MOST_BLOCKS, Misfits, Point, stand_ins};

/// What was counted of each backtrace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Blocks, and their bytes.
    Blocks,
    /// Bytes only: whatever has some counts as one block.
    Bytes,
    /// The blocks that were sampled, and no others.
    Samples,
}

/// What is to be known of what becomes of it.
pub const MADE_WITHOUT_TIMES: &str = "blocks are made from sums: what the file tells of each backtrace \
    is right; there are no times, no lifetimes and no peak";

/// Writes blocks that add up to what each point allocated, and what lives of it. `rate` is the
/// probability that a byte was hit, for who counted them and in the trace.
///
/// # Errors
/// Those of the output.
pub fn write(
    points: &[Point],
    rate: f64,
    counted: Counted,
    backtraces: &dyn Backtraces,
    scribe: &mut Scribe<'_>,
) -> Result<Vec<String>, Failure> {
    let mut misfits = Misfits { weight: 1, ..Misfits::default() };
    let all = || match counted {
        Counted::Samples => batches(points, |_, amount| scaled(amount, rate)),
        Counted::Blocks | Counted::Bytes => batches(points, |_, amount| amount),
    };
    let mut batches = match (rate, counted) {
        (1.0, _) => all(),
        (_, Counted::Blocks) => batches(points, |point, amount| samples(amount, point.size, rate)),
        (_, Counted::Samples) => batches(points, |_, amount| amount),
        (_, Counted::Bytes) => of_bytes(all(), rate, scribe)?,
    };
    let blocks: u128 = batches.iter().map(|batch| u128::from(batch.blocks)).sum();
    if blocks > MOST_BLOCKS.into() {
        batches = stand_ins::thin_out(all(), MOST_BLOCKS, &mut misfits);
        scribe.sampler(FIRST, SampledUnit::Byte, 1.0)?;
        stand_ins::declare(&batches, scribe)?;
    }
    let mut moment = Moment { backtraces, scribe };
    let (freed, live): (Vec<_>, Vec<_>) = batches.into_iter().partition(is_freed);
    freed.iter().chain(&live).try_for_each(|batch| moment.write(batch))?;
    Ok(misfits.remarks(Outcome::default(), 0))
}

/// What was freed and what lives, as `made` of what is told.
fn batches(points: &[Point], made: impl Fn(&Point, Amount) -> Amount) -> Vec<Batch> {
    let mut batches = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let freed = point.total.less(point.end);
        let freed = split(index, made(point, freed), Share::default(), &|_| Life::To {
            birth: 0,
            death: Some(0),
        });
        let live = split(index, made(point, point.end), Share::default(), &|_| Life::To {
            birth: 0,
            death: None,
        });
        batches.extend(freed.chain(live));
    }
    batches
}

/// The blocks that were sampled of so many: at least one, if there were any. What is told was rounded
/// down to whole blocks and bytes.
fn samples(all: Amount, size: Option<u64>, rate: f64) -> Amount {
    if all.blocks == 0 {
        return all;
    }
    let mean = all.bytes as f64 / all.blocks as f64;
    let is_near = |size: f64| (size * all.blocks as f64 - all.bytes as f64).abs() <= size;
    let size = size.map(|size| size as f64).filter(|size| is_near(*size)).unwrap_or(mean).max(1.0);
    let probability = Chance::per_unit(rate).any_of(size);
    let blocks = ((all.bytes as f64 / size * probability).round() as u64).max(1);
    Amount { bytes: (blocks as f64 * size).round() as u64, blocks }
}

/// What so many sampled blocks of equal size stand for.
fn scaled(sampled: Amount, rate: f64) -> Amount {
    if sampled.blocks == 0 || rate >= 1.0 {
        return sampled;
    }
    let size = (sampled.bytes as f64 / sampled.blocks as f64).max(1.0);
    let scale = 1.0 / Chance::per_unit(rate).any_of(size);
    let times = |count: u64| (count as f64 * scale).round() as u64;
    Amount { bytes: times(sampled.bytes), blocks: times(sampled.blocks) }
}

/// Batches of one block each, which stand for bytes of unknown blocks, as samples that stand for as
/// many: each for a period's bytes or a little more. Fewer bytes than a period are written as they
/// are, by a sampler that sees all.
fn of_bytes(batches: Vec<Batch>, rate: f64, scribe: &mut Scribe<'_>) -> io::Result<Vec<Batch>> {
    let sampled = |batch: &Batch| match small_blocks(batch.size, rate) {
        Some(Amount { bytes, blocks }) => {
            Batch { blocks, size: bytes / blocks.max(1), is_growth: false, ..*batch }
        }
        None => Batch { level: stand_ins::EXACT, ..*batch },
    };
    let batches: Vec<_> = batches.iter().map(sampled).collect();
    if batches.iter().any(|batch| batch.level == stand_ins::EXACT) {
        scribe.sampler(stand_ins::sampler(stand_ins::EXACT), SampledUnit::Object, 1.0)?;
    }
    Ok(batches)
}

/// As many samples of equal blocks as there are periods in `bytes`, of the size that makes them
/// stand for all of these; nothing if there are fewer.
fn small_blocks(bytes: u64, rate: f64) -> Option<Amount> {
    let blocks = (bytes as f64 * rate).floor();
    if blocks < 1.0 {
        return None;
    }
    let stands_for = |size: u64| size as f64 / Chance::per_unit(rate).any_of(size as f64);
    let wanted = bytes as f64 / blocks;
    // A block of twice a period stands for more than that.
    let (mut low, mut high) = (1_u64, (2.0 / rate).ceil() as u64);
    while low < high {
        let middle = low + (high - low) / 2;
        match stands_for(middle) < wanted {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    let blocks = blocks as u64;
    Some(Amount { bytes: low.saturating_mul(blocks), blocks })
}

fn is_freed(batch: &Batch) -> bool {
    matches!(batch.life, Life::To { death: Some(_), .. })
}

struct Moment<'a, 'w> {
    backtraces: &'a dyn Backtraces,
    scribe: &'a mut Scribe<'w>,
}

impl Moment<'_, '_> {
    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        let frames = self.backtraces.backtrace(batch.point);
        let sampler = stand_ins::sampler(batch.level);
        let block = NewBlock { size: Bytes(batch.size), sampler };
        let mut common = 0;
        for _ in 0..batch.blocks {
            let locate = &mut |code| self.backtraces.frame(code);
            let id = self.scribe.birth(block, Path { frames, common }, locate)?;
            common = frames.len();
            if is_freed(batch) {
                self.scribe.death(id)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATE: f64 = 1.0 / 524_288.0;

    proptest! {
        #[test]
        fn bytes_of_unknown_blocks_keep_their_sum(bytes in 0..1_u64 << 40, period in 2..1_u64 << 20) {
            let rate = 1.0 / period as f64;
            let Some(Amount { bytes: made, blocks }) = small_blocks(bytes, rate) else {
                prop_assert!(bytes < period);
                return Ok(());
            };
            let size = (made / blocks) as f64;
            let sum = made as f64 / Chance::per_unit(rate).any_of(size);
            prop_assert!((sum - bytes as f64).abs() <= 0.6 * blocks as f64 + 1.0, "{sum} of {bytes}");
        }
    }

    #[test]
    fn samples_are_found_again() {
        // As Go scales: 512 KiB, blocks of 16 bytes, one sample; of 4 MiB, three.
        let scaled = |count: f64, size: f64| {
            let scale = 1.0 / (1.0 - (-size / 524_288.0).exp());
            let (blocks, bytes) = (count * scale, count * size * scale);
            Amount { blocks: blocks as u64, bytes: bytes as u64 }
        };
        for (count, size) in [(1_u32, 16_u32), (3, 4 << 20), (1000, 48), (7, 524_288), (2, 300_000)]
        {
            let all = scaled(f64::from(count), f64::from(size));
            let found = samples(all, Some(size.into()), RATE);
            let expected =
                Amount { bytes: u64::from(size) * u64::from(count), blocks: count.into() };
            assert_eq!(found, expected, "{count} of {size}");
        }
        let one = Amount { bytes: 1, blocks: 1 };
        assert_eq!(samples(one, None, RATE), one);
        assert_eq!(samples(one, Some(77), RATE).blocks, 1);
        assert_eq!(samples(Amount::default(), None, RATE), Amount::default());
    }
}
