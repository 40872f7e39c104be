//! The intervals hold what they promise: over many runs of programs whose exact amounts are known,
//! 95 % of the intervals contain them. The programs and the samplers are simulated with fixed seeds; a
//! sampler marks units one by one, so it does not share the estimator's formula.
//!
//! ```text
//! one_sampler  totals of simple programs, word by word
//!  └ all_blocks  where small blocks are missed
//! programs     random programs: several samplers, callsites of all kinds, growth, frees
//!  ├ totals, callsites, peaks    what of them is in the intervals
//! candidates   which interval is best for few samples
//! rates        what `lifetrace rate` promises
//! ```
//!
//! `cargo test --release -p lifetrace-analysis --test coverage -- --nocapture` prints the figures that
//! docs/sampling.md has.

mod all_blocks;
mod callsites;
mod candidates;
mod one_sampler;
mod peaks;
mod programs;
mod random;
mod rates;
mod score;
mod totals;

const RUNS: u64 = 1500;
