//! Snapshots of managed heaps: asked for, taken by a child of the target, written to a file.
//!
//! ```text
//! a command, a signal, a clock ─▶ Desk::take ── wish ──▶ agent ── fork ──▶ child
//!                                   │                                       │
//!                                   │◀─ connection ─ door ◀── hello, token ─┤
//!                                   └─ incoming ◀─ packets ─────────────────┘
//!                                         └─ saving (names) ─────▶ .lth file
//! session's thread ─ numbers ─▶ trace, as far as it is ─ births ──▶ samples and their sites in it
//! ```
//!
//! The child reads the heap as it was; the recorder reads what it says, gives names to addresses, and writes. The target
//! is stopped while the child is forked, and no longer. One that waits and so does not see the wish has a thread sent
//! ([`waking`]).

mod births;
mod desk;
mod error;
mod incoming;
mod mapped;
mod names;
mod numbers;
mod saving;
mod schedule;
mod subject;
mod waking;
mod wishes;

pub(crate) use desk::Desk;
pub use error::SnapshotError;
pub(crate) use numbers::NumbersSource;
pub(crate) use subject::Registration;
pub use waking::Hindrance;
pub use wishes::{SNAPSHOT_MEMORY, SavedSnapshot, SnapshotPlan, SnapshotWish, UnaskedSnapshot};
