//! Hears the OCaml runtime, from outside, in unmodified native executables.
//!
//! # The model
//!
//! The runtime has a sampler of its own, which [`Gc.Memprof`] is the face of: it draws the words that are
//! hit, walks the stack, follows blocks, and calls back. A native executable exports its whole runtime,
//! so all of that can be had without a line of OCaml: [`start`] gives `caml_memprof_start` a *tracker*, a
//! static block of five static closures whose code ([`thunks`]) leads here. Under OCaml 4 the sampler's functions
//! are replaced besides, which is cheaper and leaves the program's heap alone ([`memprof`]), and stacks are walked by us
//! ([`walk`]); then no closure is ever called.
//!
//! ```text
//! readlink("/proc/self/exe")     once, by the runtime: initialised, and before any OCaml code
//!   └─ start ─ runtime (symbols, version) ─ caml_memprof_start(rate, depth, tracker)
//!
//! OCaml 4   allocation hit ─ thunk ─ memprof::births ─ callstacks ─ Tracker::allocated ─▶ ring
//!           collected ────── thunk ─ memprof::fates ─────────────── Tracker::promoted, freed ─▶ ring
//! OCaml 5   runtime ──────── thunk ─ callbacks ─ callstacks ─────── Tracker ─▶ ring
//!                                                   └─ state: each distinct frame is named once (debug_info)
//! ```
//!
//! # Rules
//!
//! - Nothing is allocated in the OCaml heap: an answer `Some id` is a static block, of which the runtime
//!   reads the field before anything else runs.
//! - No exception is raised, the runtime's lock is never released, the collector is never run.
//! - What runs here runs on a stack that is known to have room, else on one of its own (OCaml 4), or on the system's
//!   (OCaml 5), never in what is left of the program's.
//! - The program may start `Gc.Memprof` itself: then that is its, and ours ends ([`yielding`]).
//!
//! A program that is attached to runs already: there sampling begins where its threads come to a safe place ([`late`]).
//! A program may also have the agent [`linked`] in, and start Memprof with it when it wants to.
//!
//! What differs between versions is in [`version`], and nowhere else: 4.11 to 4.14, and 5.3 and later.
//!
//! \[UNSAFE\] files: `attached`, `blocks`, `callbacks`, `client`, `debug_info`, `descriptors`, `domains`, `host`, `late/*`, `linked`, `memprof/births`,
//! `memprof/fates`, `memprof/functions`, `memprof/minor_heap`, `memprof/mod`, `moved`, `runtime`, `snapshot/*`, `stack`, `start`, `state`,
//! `stopped`, `sums`, `symbols`, `thunks/*`, `totals`, `yielding`.
//!
//! [`Gc.Memprof`]: https://ocaml.org/manual/5.3/api/Gc.Memprof.html

#![no_std]

#[cfg(test)]
extern crate std;

mod attached;
mod begin;
mod blocks;
mod callbacks;
mod callstacks;
mod client;
mod counters;
mod debug_info;
mod descriptors;
mod domains;
mod entry;
mod heard;
mod host;
pub mod late;
pub mod linked;
mod memprof;
mod moved;
mod names;
mod own;
mod runtime;
mod snapshot;
mod stack;
pub mod start;
mod state;
mod static_blocks;
mod stopped;
mod sums;
mod symbols;
mod terms;
mod thunks;
mod totals;
mod version;
mod walk;
mod yielding;
