//! From a target process to a trace file.
//!
//! # The model
//!
//! ```text
//! targets          handshake thread       receiver thread            a thread per session
//! connect ───────> hello, /proc/<pid>
//!         <─────── welcome + segment ───> session
//! rings ════════════════════════════════> drain, order by time ════> assemble ─> sink ─> trace file, heap
//! /proc ─> observer thread ─ notes ─────> put among them by time          │
//!                                                        symbolizer thread ┘ (one for all)
//! ```
//!
//! A [`Recording`] launches a command with the agent and runs a [`Collector`], which serves
//! whatever agents connect to its socket: the command's, and those of processes it starts. Each
//! process image is a *session* with its own segment, order, assembler and file.
//!
//! # Invariants
//!
//! - A target is never in our hands: it may die, stall, or scribble over its segment at any moment,
//!   and only its own session suffers. What it sent before is in its trace.
//! - Only the receiver reads rings, and it never waits for a file or for symbols: the queue to a
//!   session's thread is bounded, and when that is full its rings are left to fill, which the agent
//!   notices.
//! - Messages become events in `assemble` and nowhere else; a format is chosen in `sink` and nowhere
//!   else.
//! - Nothing grows with the number of samples, threads, places or loaded files that have been: what
//!   waits for a slow disk is bounded over all sessions (`queue`), as are the threads' backtraces
//!   (`stacks`), the places that have codes (`places`) and the names of places (`symbolizer`). What
//!   grows is the table of live samples, 17 to 39 bytes each, and with the program's code the names of
//!   a managed runtime's frames (`managed`); those of other code that is made at run time are bounded
//!   (`made_code`).
//! - What a [`heap`] takes in memory is bounded by what is live and by the distinct backtraces.
//! - Nothing is overwritten that the user has not said may be, and nothing is written elsewhere
//!   than the traces, the agent's library and the socket's directory.
//! - `unsafe` is in `shm.rs`, `usage.rs`, `large_blocks.rs`, `launch/inherited.rs`, `stop/call.rs`, `attach/code.rs` and
//!   `allocator.rs` alone.

#![deny(unsafe_code)]
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "nothing is attached to there"))]

mod admission;
#[cfg(target_env = "musl")]
#[allow(unsafe_code)]
mod allocator;
mod assemble;
#[cfg_attr(not(target_arch = "x86_64"), path = "attach_elsewhere.rs")]
mod attach;
mod birth;
mod called;
mod change_rate;
mod clock;
mod collections;
mod collector;
mod container;
mod contexts;
mod cuts;
mod end_memory;
mod executions;
mod exports;
#[cfg(test)]
mod fake;
mod files;
mod folder;
mod format;
mod handshake;
pub mod heap;
mod highest;
mod image;
#[allow(unsafe_code)]
mod large_blocks;
mod late;
mod late_processes;
mod launch;
mod leftovers;
mod linker;
mod looking;
mod losses;
mod lost;
mod made_code;
mod managed;
mod mapped_files;
mod mappings;
mod maps;
mod memtrace;
mod modules;
mod notes;
mod notice;
mod observe;
mod order;
mod outcome;
mod output;
mod output_error;
mod patch;
mod peer;
mod places;
mod plan;
mod preface;
pub mod preload;
mod process;
mod program_file;
mod progress;
mod queue;
mod rate;
mod reach;
mod receive;
mod recording;
mod remains;
mod requests;
mod runtimes;
mod samplers;
mod schedule;
mod scribe;
mod session;
#[allow(unsafe_code)]
mod shm;
mod sink;
mod snapshots;
mod socket;
mod stacks;
mod standing;
mod stat;
#[allow(unsafe_code)]
mod stop;
mod successor;
mod switch;
mod symbolizer;
mod template;
mod threads;
mod title;
mod trace_file;
mod unexplained;
mod untraced;
#[allow(unsafe_code)]
mod usage;
mod view;
mod wakeup;
mod whereabouts;

#[cfg(target_env = "musl")]
pub use allocator::Allocator;
pub use attach::{AttachConfig, AttachError, Attachment, AttachmentEnd, Detached, Pauses, detach};
pub use change_rate::{RateChange, RateError};
pub use collector::{Collector, CollectorError, CollectorOptions, MOST_FRAMES};
pub use folder::{Folder, FolderError, FolderFigures, FolderTrace, Retention, Rotation, traces_in};
pub use format::Format;
pub use large_blocks::return_large_blocks;
pub use launch::{Examined, LaunchError, Untraceable, examine};
pub use lifetrace_transport::segment::LostReason;
pub use lifetrace_transport::sources::SourceName;
pub use memtrace::{MemtraceControl, MemtraceRun};
pub use notice::{Notice, RuntimeNotice, Unlooked, Unread, Untraced};
pub use outcome::{
    Execution, Figures, Others, Outcome, Refusal, SessionEnd, SessionReport, Unheard,
    UntracedProgram,
};
pub use output::Output;
pub use output_error::OutputError;
pub use plan::Introduction;
pub use process::own_name;
pub use rate::{Rate, Rates};
pub use recording::{CommandEnd, Config, Control, Recording, StartError, raise_file_limit};
pub use requests::{
    AskError, Done, ListedSession, Recorded, Recorder, ask, recorder_of, recorders,
};
pub use runtimes::{Beside, SourceChoice, plain_notices};
pub use schedule::Schedule;
pub use snapshots::{
    Hindrance, SNAPSHOT_MEMORY, SavedSnapshot, SnapshotError, SnapshotPlan, SnapshotWish,
    UnaskedSnapshot,
};
pub use socket::Socket;
pub use standing::{
    Admits, Claim, Event, Standing, StandingError, StandingSocket, standing_address,
};
pub use symbolizer::{DebugInfo, FileOnDisk, MappedPlace, SymbolsOnDisk, Unfound, Unnamed};
pub use threads::on_thread_start;
