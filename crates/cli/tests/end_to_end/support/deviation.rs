//! How far an estimate may be off, known beforehand from an exact trace.
//!
//! A block of `u` words, its header included where it has one, is in a trace of rate `r` with probability `p = 1 - (1 - r)^u`, and then
//! counts `1 / p` times. That has the variance `(1 - p) / p`, times the square of what is counted;
//! blocks are independent, so variances add up. Unlike the variance that a sampled trace states of
//! itself, this one is no estimate.

use super::blocks::Block;

/// An exact number, and the standard deviation of its estimate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expectation {
    pub exact: f64,
    pub deviation: f64,
}

/// The sum of `count` over `blocks`, and how far an estimate at `rate` deviates from it.
pub fn expect(blocks: &[Block], rate: f64, count: impl Fn(&Block) -> f64) -> Expectation {
    let exact = blocks.iter().map(&count).sum();
    let variance = |block: &Block| {
        let included = 1.0 - (1.0 - rate).powf(block.units() as f64);
        (1.0 - included) / included * count(block).powi(2)
    };
    Expectation { exact, deviation: blocks.iter().map(variance).sum::<f64>().sqrt() }
}
