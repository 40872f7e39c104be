//! What an agent inside a target sends to the recorder.
//!
//! # The model
//!
//! A *session* is one process image that is being traced. The agent connects to the recorder's
//! socket ([`handshake`]), receives the descriptor of one shared *segment* ([`segment`]), maps it,
//! and closes both descriptors: from then on it owns no descriptor that the target could close,
//! inherit or reuse, and the segment survives the target's death, however sudden.
//!
//! The segment holds settings (written once by the recorder, before the agent sees them; [`sources`] are what is
//! sampled), a
//! heartbeat (recorder to agent), counters of lost events (agent to recorder) and a small fixed
//! number of rings ([`ring`]), behind which lie the [`patch`]es. A thread writes [`message::Message`]s to one ring, under that ring's
//! lock, which lives in the agent's private memory; the recorder is the only consumer of all rings.
//!
//! ```text
//! target                                  |  recorder
//! thread ─┐                               |
//! thread ─┼─ lock ─ ring 0 ───────────────┼─┐
//! thread ─┘                               |  ├─ merge by time ─ one ordered stream
//! thread ─── lock ─ ring 1 ───────────────┼─┘
//! ```
//!
//! # Invariants
//!
//! - Messages are wide and almost stateless: the one piece of state is that a backtrace is sent as
//!   the number of outermost frames shared with the same thread's previous backtrace, and the
//!   others. After a loss the next one is sent whole.
//! - A message is in the ring entirely or not at all: `head` moves after its last byte.
//! - Every message carries its time. An agent takes the time of a message *after* committing all
//!   that the message depends on (a module before a frame in it, an allocation before its release),
//!   so a recorder that reads the clock, then drains every ring, then releases only messages older
//!   than that clock reading never sees an effect before its cause.
//! - Nothing here allocates, blocks, panics on foreign bytes, or knows a file format.

#![no_std]

pub mod attach;
pub mod codec;
pub mod errand;
mod frames;
pub mod handshake;
pub mod last_words;
pub mod memory;
pub mod message;
pub mod patch;
pub mod ring;
pub mod segment;
pub mod snapshot;
pub mod sources;
pub mod stream;
