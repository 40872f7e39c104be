//! Very many threads, each of which lives for a moment.
//!
//! Each begins with a countdown of its own. That must bias no estimate, and cost no memory that stays.

use crate::support::blocks;
use crate::support::deviation;
use crate::support::fixture;
use crate::support::hazard::{EXACT, same_ledger};
use crate::support::profile::read_through;
use crate::support::run::Target;

/// One in two million estimates is further off.
const SIGMAS: f64 = 5.0;

const SEEDS: [&str; 4] = ["1", "2", "3", "4"];

#[test]
fn a_hundred_thousand_threads_of_ten_allocations() {
    let target = Target::new(&[&fixture::c("many_threads")]);
    let bare = target.bare();
    assert!(bare.stdout_text().contains("has not grown"), "{bare:?}");
    let exact = target.record(EXACT);
    assert_eq!(exact.outcome, bare);
    same_ledger(&bare, &exact);
    let blocks = blocks::of(&exact.trace_of("many_threads"));
    let mut sum = 0.0;
    for seed in SEEDS {
        let sampled = target.record(&["--interval", "64KiB", "--seed", seed]);
        assert_eq!(sampled.outcome, bare);
        let summary = read_through(&sampled.trace_of("many_threads"));
        let bytes = |block: &blocks::Block| 8.0 * block.words as f64;
        let expected = deviation::expect(&blocks, summary.sampling.rate(), bytes);
        let off = (summary.allocated.bytes.value - expected.exact) / expected.deviation;
        assert!(off.abs() <= SIGMAS, "seed {seed}: {off} sigmas");
        sum += off;
    }
    // The mean of several is nearer, unless there is a bias.
    let mean = sum / (SEEDS.len() as f64).sqrt();
    assert!(mean.abs() <= SIGMAS, "all seeds together: {mean} sigmas");
}
