//! What programs that are being recorded hold now, who holds it, and how that changes: `lifetrace live`.
//!
//! ```text
//! recorder ─ trace, which grows ─> Book (Reading of `study`, Moved) ─ rows, branches ─> Board ─> View ─> page | document
//!         └─ sessions ────────────────────────────────────────────────────────────────┘         Model <─ keys
//! ```
//!
//! A trace is read while it is written, by the same reader, replay and callsite rule as `report`: so its numbers are those
//! that `report` has of the trace at that moment. What is read once is not read again, and nothing is computed that is not
//! shown. Beside that a [`Book`](book::Book) keeps what came and went since a few moments ([`moved`]).
//!
//! Nothing here knows of a terminal, of a recorder, or of time's passing: sessions are given to the [`Board`](board::Board),
//! keys to the [`Model`](model::Model), and a [`page`] is drawn into a buffer.
#![forbid(unsafe_code)]

pub mod board;
pub mod book;
pub mod branches;
pub mod document;
pub mod lives;
pub mod model;
pub mod moved;
pub mod page;
pub mod process;
pub mod rows;
pub mod sites;
pub mod words;
