//! Samples Ruby's objects, from outside, in unmodified programs.
//!
//! # The model
//!
//! The virtual machine calls hooks at internal events, and offers stacks to profilers; libruby, or an executable that
//! has it inside, exports both for C extensions. So all of that can be had without a gem:
//!
//! ```text
//! ruby_setup                   once: the machine is ready, and has run no Ruby code
//!   └─ start ─ vm (functions by name) ─ rb_add_event_hook2
//!
//! NEWOBJ ── objects: a countdown ─ hit ─ stacks (rb_profile_frames) ─ Tracker::allocated ─▶ ring
//! END_MARK  objects: what is not marked is dead ──────────────────── Tracker::freed ─────▶ ring
//! malloc    mallocs: a sample ─ the thread's frames, outside of all others ──────────────▶ ring
//! a postponed job ─ names: what frames are called, which makes strings ─────────────────▶ ring
//! a postponed job ─ snapshot: a forked child walks the heap ─────────────▶ a connection of its own
//! ```
//!
//! In a program that is attached to the same begins in a postponed job ([`late`]).
//!
//! # Rules
//!
//! - Everything here runs under the global lock of the machine, or before there is a second thread; so nothing is locked.
//! - Within an event's hook nothing is called that makes objects. What frames are called is asked for at the machine's
//!   next safe point; the recorder waits for it.
//! - Nothing keeps an object alive but frames that wait for their names.
//!
//! \[UNSAFE\] files: `asking`, `capture`, `class`, `classes`, `collector`, `compiler`, `current`, `frames`, `kind`, `late`, `linked`, `mallocs`, `marks`, `names`,
//! `objects`, `sampling`, `sizes`, `snapshot/mod`, `snapshot/pages`, `snapshot/space`, `snapshot/telling`, `snapshot/wake`, `stacks`,
//! `start`, `state`, `symbols`, `texts`, `threads`, `vm`, `wish`.

#![no_std]

#[cfg(test)]
extern crate std;

mod asking;
mod capture;
mod class;
mod classes;
mod collector;
mod compiler;
mod countdown;
mod current;
mod ends;
mod entry;
mod frames;
mod kind;
pub mod late;
pub mod linked;
mod mallocs;
mod marks;
mod names;
mod numbers;
mod objects;
mod samples;
mod sampling;
mod serving;
mod sizes;
mod snapshot;
mod stacks;
pub mod start;
mod state;
mod symbols;
mod terms;
mod texts;
mod threads;
mod version;
mod vm;
mod wish;
