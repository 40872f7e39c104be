//! The graph of a heap at one moment: which blocks there are, which refer to which, and what follows from that.
//!
//! ```text
//! a dump of Ruby's ─ ruby ─┬▶ Heap: Graph ─┬─▶ Dominators: who alone holds a block ─▶ Retained: what goes with it
//! a snapshot `.lth` ── lth ┘               └─▶ Shortest: the shortest way to a block
//! ```
//!
//! Everything here is exact: of what the dump tells, nothing is estimated. Nothing is written, and odd input is an error
//! or is counted, never a panic.

#![forbid(unsafe_code)]

pub mod dominators;
pub mod graph;
pub mod heap;
pub mod index;
pub mod lth;
pub mod paths;
pub mod retained;
pub mod ruby;
mod set;
pub mod tree;
