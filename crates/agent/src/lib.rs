//! The life of a sample inside a target.
//!
//! # The model
//!
//! Memory is a stream of 8-byte *words*, allocated one after the other; each is *hit* with the same
//! small probability ([`sampler`]). A thread counts down the words to its next hit in thread-local
//! storage ([`tls`], [`countdown`]), so a block without a hit costs one subtraction and one branch. A block with a
//! hit is a *sample*: whoever observes it (malloc, a runtime) takes a [`guard::Entry`], captures a
//! backtrace into the [`thread::Thread`], and reports the block to its [`tracker`], which answers what to
//! remember with it; later it reports that the block was promoted, and that it died. The tracker of a
//! recording is the [`announcer`], which sends messages to the recorder through the [`sender`].
//!
//! ```text
//!           start ok             recorder gone / told to stop
//!  Unborn ───────────▶ Recording ─────────────────────────────▶ Off
//!    │  no recorder        │ fork, in the child                  ▲
//!    └─────────────▶ Off   └──▶ Forked ──▶ (connects by itself) ─┘ or Recording
//! ```
//!
//! # Rules inside a target
//!
//! - No allocation through anything that is hooked, no panic, no unbounded wait, no descriptor kept,
//!   no changed `errno`. What cannot be done is counted by reason.
//! - [`guard`] makes the agent non-reentrant per thread: a signal handler that interrupts it passes
//!   straight through.
//! - Threads that can't be served (no recorder, no memory for their record) pass straight through as well.
//! - A forked child is found out without its help, by a page that the kernel wipes
//!   ([`phase`]), and becomes a session of its own at its first countdown.
//! - Nothing of the program's is waited for, and next to nothing called ([`sys`], [`loader`]).
//!
//! \[UNSAFE\] files: `buffer`, `code`, `context`, `errand/*`, `frames`, `guard`, `host`, `loader/*`, `patch`, `phase`,
//! `room` (its tests), `sender`, `session`, `snapshot/*`, `sys/*`, `thread`, `tls/*`.

#![no_std]

#[cfg(test)]
extern crate std;

pub mod announcer;
pub mod backtrace;
pub mod buffer;
pub mod chain;
pub mod code;
pub mod context;
pub mod countdown;
pub mod errand;
pub mod frames;
pub mod guard;
pub mod host;
pub mod leave;
pub mod loader;
pub mod lock;
pub mod managed;
pub mod patch;
pub mod phase;
pub mod room;
pub mod sender;
pub mod session;
pub mod snapshot;
pub mod sys;
mod tail;
pub mod thread;
pub mod tls;
pub mod tracker;

pub use lifetrace_sampler as sampler;
pub use lifetrace_sampler::random;
