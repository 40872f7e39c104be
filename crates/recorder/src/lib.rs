//! From a target process to a trace file.
//!
//! # The model
//!
//! ```text
//! targets          door thread            receiver thread            a thread per session
//! connect ───────> hello, /proc/<pid>
//!         <─────── welcome + segment ───> session
//! rings ════════════════════════════════> drain, order by time ════> assemble ─> trace file
//!                                                                        │
//!                                                       symbolizer thread ┘ (one for all)
//! ```
//!
//! A [`Recording`] launches a command with the agent and runs a [`Collector`], which serves
//! whatever agents connect to its socket: the command's, and those of processes it starts. Each
//! process image is a *session* with its own segment, order, assembler and file.
//!
//! # Invariants
//!
//! - A target is never in our hands: it may die, stall, or scribble over its segment at any moment,
//!   and only its own session suffers. What it said before is in its trace.
//! - Only the receiver reads rings, and it never waits for a file or for symbols: the queue to a
//!   session's thread is bounded, and when that is full its rings are left to fill, which the agent
//!   notices.
//! - Messages become events in `assemble` and nowhere else.
//! - Nothing is overwritten that the user has not said may be, and nothing is written elsewhere
//!   than the traces, the agent's library and the socket's directory.
//! - `unsafe` is in `shm.rs` alone.

#![deny(unsafe_code)]

mod admission;
mod assemble;
mod clock;
mod collector;
mod door;
#[cfg(test)]
mod fake;
mod launch;
mod modules;
mod order;
mod outcome;
mod output;
mod places;
mod preload;
mod process;
mod progress;
mod queue;
mod rate;
mod receive;
mod recording;
mod scribe;
mod session;
#[allow(unsafe_code)]
mod shm;
mod symbolizer;
mod trace_file;
mod wakeup;

pub use collector::{Collector, CollectorError, CollectorOptions};
pub use door::Socket;
pub use launch::{LaunchError, Untraceable};
pub use lifetrace_transport::message::NoticeKind;
pub use lifetrace_transport::segment::LostReason;
pub use outcome::{Outcome, Refusal, SessionEnd, SessionReport};
pub use output::{DEFAULT_TEMPLATE, OutputError};
pub use rate::Rate;
pub use recording::{CommandEnd, Config, Control, Recording, StartError};
