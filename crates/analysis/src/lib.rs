//! Events in, plain reports out.
//!
//! ```text
//! Record ─→ Replay ─→ Observers ─→ what each has found, by backtrace ─┬─→ reports
//!             ├─ Sampling   what a sampled block stands for   Names ──┘
//!             ├─ CallTree   where: backtraces as nodes of a prefix tree
//!             └─ History    which sampled blocks live now
//!   Profile = Replay + accounts: how much each backtrace, and the whole trace, allocated and held
//! ```
//!
//! [`select`] says which blocks observers hear of, [`shape`] how backtraces look, both as a
//! [`filter`] and its [`View`](filter::View) say.
//!
//! A [`Replay`] reads a trace once, in order, and costs O(changed frames) an event. It keeps one entry
//! for each live sampled block and one for each distinct backtrace, and nothing for an event that is
//! past. Names are not looked at before the end: until then a frame is its code.
//!
//! [`merged`] adds up several traces, [`family`] says which process started which.
//!
//! [`gate`] says whether a condition on a trace, or on a change, is true beyond doubt.
//!
//! All amounts are estimates made from samples; [`estimate`] says how, and each carries its variance.
//! Sums are kept in fixed point where something is taken away again, so that nothing is left behind,
//! and a trace of everything (rate 1) gives whole numbers.
//!
//! Nothing here does I/O, formats text, or fails on an odd trace: an event about an unknown block is
//! counted in [`Summary::unmatched`] and otherwise ignored.
#![forbid(unsafe_code)]

pub mod account;
pub mod branches;
pub mod calendar;
pub mod calls;
pub mod callsites;
pub mod classes;
pub mod cycles;
pub mod diff;
pub mod estimate;
pub mod family;
pub mod filter;
mod fixed;
pub mod folding;
pub mod functions;
pub mod gate;
mod grammar;
pub mod held;
pub mod history;
pub mod interval;
pub mod leaks;
pub mod lifetimes;
pub mod lines;
pub mod lost;
pub mod machinery;
pub mod merged;
pub mod metric;
pub mod names;
mod normal;
pub mod nursery;
pub mod pace;
pub mod paths;
pub mod plain_name;
pub mod profile;
pub mod promotion;
pub mod rate;
pub mod replay;
pub mod resident;
pub mod sampling;
pub mod select;
pub mod shape;
pub mod sites;
pub mod sizes;
pub mod statistics;
pub mod summary;
pub mod survivals;
pub mod temporary;
pub mod threads;
pub mod timeline;

pub use callsites::{Callsite, Callsites};
pub use estimate::{Amount, Estimate, Weight};
pub use interval::Interval;
pub use lifetrace_trace::call_tree;
pub use merged::Merged;
pub use metric::Metric;
pub use names::{NamedFrame, Names, Place};
pub use profile::Profile;
pub use replay::{Observer, Replay};
pub use sampling::{InvalidSampling, Sampling};
pub use shape::Shaped;
pub use sites::Sites;
pub use summary::{Peak, Summary};
