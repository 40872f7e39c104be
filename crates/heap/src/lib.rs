//! What a heap's graph amounts to, for people and for programs: which kinds of objects there are, what holds them, and
//! how each is reached.
//!
//! ```text
//! a dump, a snapshot ─▶ Opened ─┬─▶ Summary    by kind, by root              ─┐
//!                               ├─▶ Retainers  what would go with what        │
//!                               ├─▶ Holding    one object: who holds it       ├─▶ page of text | JSON document
//!                               ├─▶ Block      one object: its fields         │
//!                               ├─▶ Sites      where samples were allocated   │
//!                               └─▶ Types      what shapes look like          │
//! two of them ──────────────────────▶ Diff       what has become more          ─┘
//! three ─────────────────────────────▶ Survivors  what came and stayed
//! .cmt files ─▶ declared ─▶ what blocks are called in all of these
//! a dump ─▶ import ─▶ a snapshot
//! a snapshot beside a trace ─▶ ways ─▶ the report of that trace
//! ```
//!
//! All numbers are exact but those of sites, which are estimates with intervals. What a block retains, and what one that it dominates retains, overlap: they are never added.
#![forbid(unsafe_code)]

mod block;
mod declared;
mod diff;
mod evidence;
mod facts;
mod guess;
mod heapsnapshot;
mod holding;
mod import;
mod kinds;
mod list;
mod object;
mod opened;
pub mod origin;
mod retainers;
mod said;
mod sites;
mod steps;
mod summary;
mod survivors;
mod types;
mod ways;

pub use block::Block;
pub use declared::Sources;
pub use diff::Diff;
pub use heapsnapshot::write_heapsnapshot;
pub use holding::{Holding, Which};
pub use import::{ImportedHeap, import_heap, is_heap_dump};
pub use opened::Opened;
pub use retainers::Retainers;
pub use sites::Sites;
pub use summary::Summary;
pub use survivors::Survivors;
pub use types::Types;
pub use ways::{newest_beside, ways};
