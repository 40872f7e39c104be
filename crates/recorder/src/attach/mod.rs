//! Recording a process that runs already: nothing is prepared in it, and nobody restarts it.
//!
//! ```text
//! look ─> a thread is borrowed ─> worker ─> library, memory for the session ─> all threads stand still: jumps
//!  │       (memory, safe, borrow, code)      (library)                          (jumps)
//!  └─ look, place: what speaks against it                 ... end: jumps are taken back, the library stays
//! ```
//!
//! From there on it is the recording of any process: its agent sends, its children come by the socket. What is done to the
//! process is in [`borrow`] and [`jumps`]; all else only looks. If a step fails, those before it are undone.

#[allow(unsafe_code)]
mod code;

mod attachment;
mod borrow;
mod detaching;
mod error;
mod expressions;
mod joining;
mod jumps;
mod library;
mod look;
mod memory;
mod place;
mod safe;
mod terms;

pub use attachment::Attachment;
pub use detaching::detach;
pub use error::AttachError;
pub use terms::{AttachConfig, AttachmentEnd, Detached, Pauses};
