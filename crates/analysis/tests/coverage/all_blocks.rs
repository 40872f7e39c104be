//! Totals of programs whose blocks have sizes of several orders of magnitude: what was sampled tells little of the
//! smallest, which are most.

use super::RUNS;
use super::one_sampler::{Sizes, run};
use super::random::Random;
use super::score::Score;

/// Between two samples, on average, in words: as many bytes as by default.
const INTERVAL: f64 = 65_536.0;

/// Also prints what one would see who took the sampled blocks for all.
fn check(what: &str, blocks: u64, sizes: Sizes) {
    let [mut bytes, mut objects, mut seen_bytes, mut seen_objects] = [Score::default(); 4];
    for seed in 0..RUNS {
        let (exact, summary) = run(Random::of_run(seed).0, 1.0 / INTERVAL, blocks, sizes);
        let (all, sampling) = (&summary.allocated, &summary.sampling);
        bytes.add_within(&all.bytes, all.heard_bytes(sampling), exact.allocated);
        objects.add_within(&all.objects, all.heard_objects(sampling), exact.objects);
        if all.samples > 0 {
            seen_bytes.add(&all.bytes, exact.allocated);
            seen_objects.add(&all.objects, exact.objects);
        }
    }
    seen_bytes.print(&format!("{what}: bytes, of what is sampled"));
    seen_objects.print(&format!("{what}: objects, of what is sampled"));
    for (score, of) in [(bytes, "bytes"), (objects, "objects")] {
        score.print(&format!("{what}: {of}, of all blocks"));
        assert!(score.coverage() >= 0.94, "{what}: {of}: {}", score.coverage());
    }
}

#[test]
fn few_samples_of_all_sizes() {
    check("16 B to 64 KiB, about 22 samples", 1_500, |random| {
        random.log_uniform(2.0, 8_192.0) as u64
    });
}

#[test]
fn many_samples_of_all_sizes() {
    check("16 B to 1 MiB, about 270 samples", 1_500, |random| {
        random.log_uniform(2.0, 131_072.0) as u64
    });
}

#[test]
fn a_large_block_and_small_ones() {
    // One of 10 MiB on average, and a MiB of the smallest.
    check("blocks of 10 MiB and 1 MiB in 16 B", 65_536, |random| match random.next() % 65_536 {
        0 => 1_310_720,
        _ => 2,
    });
}
