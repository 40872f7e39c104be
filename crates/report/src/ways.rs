//! What holds blocks, as a snapshot of the heap tells it that was taken of the same process.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// By which ways roots hold the sampled blocks of a trace.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// The snapshot's file, without its folder.
    pub snapshot: String,
    /// By how many births the trace had told before a block's: what leads to it, from a root on.
    pub by_birth: FxHashMap<u64, Way>,
}

/// What leads to a block: the root, and what is between it and the block, each in a word or two.
pub type Way = Arc<[String]>;

/// Finds the ways, if there is a snapshot; whoever has no question does not ask.
pub type FindWays<'a> = dyn Fn() -> Option<Ways> + 'a;
