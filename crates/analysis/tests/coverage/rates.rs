//! What `lifetrace rate` promises.

use lifetrace_analysis::rate::{Blocks, Confidence};

use super::RUNS;
use super::random::{Random, Sampler};
use super::score::COVERAGE;

/// How often the estimate of `amount` is within that share of it, with the interval that is said to do.
fn kept(blocks: Blocks, block: u64, amount: u64, within: f64, confidence: f64) -> f64 {
    let confidence = Confidence::new(confidence).unwrap();
    let interval = blocks.interval(amount as f64, within, confidence);
    let included = 1.0 - (1.0 - 1.0 / interval).powf(block as f64);
    let good = (0..RUNS).filter(|run| {
        let mut sampler = Sampler::new(Random::of_run(*run).0, 1.0 / interval);
        let hit = (0..amount / block).filter(|_| sampler.hits(block) > 0).count();
        let estimate = hit as f64 * block as f64 / included;
        (estimate - amount as f64).abs() <= within * amount as f64
    });
    good.count() as f64 / RUNS as f64
}

#[test]
fn the_promised_precision_is_kept() {
    for (block, amount, within) in [(64, 1 << 20, 0.1), (4096, 8 << 20, 0.1), (1000, 900_000, 0.2)]
    {
        let blocks = Blocks::of_bytes(block).unwrap();
        let share = kept(blocks, block, amount, within, 0.95);
        println!("{amount} bytes in blocks of {block} within {within}: {:.1} %", 100.0 * share);
        assert!(COVERAGE.contains(&share), "{block}: {share}");
        let share = kept(blocks, block, amount, within, 0.8);
        assert!((0.77..=0.83).contains(&share), "{block}: {share}");
    }
}

#[test]
fn without_a_size_blocks_of_any_size_do() {
    for block in [16, 512, 1 << 16] {
        let share = kept(Blocks::SMALLEST, block, 1 << 22, 0.1, 0.95);
        assert!(share > 0.93, "{block}: {share}");
    }
}
