//! The statistics behind the views: numbers in, numbers out.
//!
//! ```text
//!   block ─→ Mass ─┬─ Histogram   how large, how old      ─→ quantiles, shares
//!                  ├─ Survival    how long blocks live    ─→ curve, quantiles
//!                  ├─ Censored    the same, where one knows only between which ages they died
//!                  └─ Lives       when they live          ─→ growth: leak or plateau? together
//!   prefix tree + weights ─→ heavy      which paths explain most
//!   estimates of two sides ─→ compare   which differences are real; change   how great they are
//!   names of two sides ─→ matching      what became of what
//! ```
//!
//! A sketch (`Histogram`, `Survival`, `Lives`) is made one per backtrace; those of a callsite are added
//! up. Sums are in fixed point, so the order of adding changes nothing, and each is of bounded size
//! however many blocks it has seen. What is derived of them knows nothing of traces, names or text.
//!
//! Two kinds of error appear. *Sampling* alone: what would the trace of everything have said? It is
//! 0 at rate 1. *The process*: what will the program do next time, or in the next hour? Its blocks
//! are then themselves a draw, and even a trace of everything leaves doubt. Each method says which
//! it gives.

pub mod censored;
pub mod change;
pub mod compare;
pub mod correction;
pub mod distribution;
pub mod growth;
pub mod heavy;
pub mod histogram;
pub mod lives;
pub mod mass;
pub mod matching;
pub mod proportion;
pub mod rebuilt_name;
mod repeats;
#[cfg(test)]
pub(crate) mod simulation;
pub mod survival;
pub mod together;
mod weighted_tree;

pub use change::Change;
pub use compare::{Difference, Run, Verdict};
pub use growth::{Growth, Shape};
pub use heavy::{HotPath, HotPaths};
pub use histogram::{Histogram, Quantile};
pub use lives::Lives;
pub use mass::{Mass, Sums, Unit};
pub use matching::{Matching, Site};
pub use proportion::Proportion;
pub use survival::Survival;
pub use together::Together;
