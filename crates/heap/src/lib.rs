//! What a heap's graph amounts to, for people and for programs: which kinds of objects there are, what holds them, and
//! how each is reached.
//!
//! ```text
//! a dump ─▶ Opened ─┬─▶ Summary    by kind, by root            ─┐
//!                   ├─▶ Retainers  what would go with what      ├─▶ page of text | JSON document
//!                   └─▶ Holding    one object: who holds it     ─┤
//! two dumps ────────────▶ Diff       what has become more         ─┘
//! ```
//!
//! All numbers are exact. What a block retains, and what one that it dominates retains, overlap: they are never added.
#![forbid(unsafe_code)]

mod diff;
mod holding;
mod import;
mod kinds;
mod object;
mod opened;
pub mod origin;
mod retainers;
mod said;
mod summary;

pub use diff::Diff;
pub use holding::{Holding, Which};
pub use import::{ImportedHeap, import_heap, is_heap_dump};
pub use opened::Opened;
pub use retainers::Retainers;
pub use summary::Summary;
