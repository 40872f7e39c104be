//! Hears malloc and free.
//!
//! # The model
//!
//! The exported functions of the malloc family ([`interpose`]) take a block's footprint from the
//! thread's countdown and jump to the *next* allocator in the program's link order ([`next`]).
//! When the countdown ends, the block that the next allocator gives is a sample ([`sample`]): its
//! backtrace is captured ([`unwind`]), it is announced, and entered by its address in the table of
//! [`live`] samples, with its *extents*: which of its words were hit when they were allocated, and under
//! which name. Nothing in the block or before it is ours.
//!
//! ```text
//! malloc ─ countdown ─┬─ jump to next malloc
//!                     └─ next malloc, backtrace, table, Allocation ──▶ ring
//! free ─── filter ────┬─ jump to next free
//!                     └─ in the table? Release of each extent ──▶ ring; next free
//! ```
//!
//! # realloc
//!
//! The words that a realloc adds are new words, hit or not like any others: they form an extent of
//! their own, announced as a growth with the realloc's backtrace. Words that it drops die.
//! So the bytes allocated are the sum of what was asked for first and of what was added, at any rate.
//!
//! # Mappings
//!
//! Where a session asks for them, calls of `mmap` and its like are told one by one ([`mappings`]): they are rare, so
//! there is no countdown, and no table. They are heard by their names, or, in a process that is attached to, by their
//! first instructions.
//!
//! # Allocators in the program
//!
//! Calls of an allocator that the program has in itself cannot be hooked by name. The recorder says which of
//! its functions are to be patched ([`patch`]): each begins with a jump to a hook of [`families`] then, and goes
//! on in a copy of its first instructions.
//!
//! # Threads and locks
//!
//! No lock of the program's or of the loader's is waited for ([`modules`]), and none of ours is held while
//! the unwinder or the next allocator is at work; every wait is bounded.
//!
//! \[UNSAFE\] files: `arena`, `attach`, `boot`, `bytes/*`, `cxx`, `ends`, `executable`, `families/*`, `interpose`, `jemalloc/*`,
//! `live/{mod,filter}`, `mappings/{calls,mod,next,patched}`, `modules/*`, `next`, `patch/{island,late,mod,quiet}`, `sandbox`, `signal_frame`, `start`, `totals`, `unwind/*`.

#![no_std]
#![cfg_attr(test, allow(clippy::undocumented_unsafe_blocks, reason = "tests own what they touch"))]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod arena;
pub mod attach;
mod blocks;
pub mod boot;
pub mod bytes;
pub mod cxx;
pub mod ends;
pub mod executable;
pub mod families;
pub mod forks;
pub mod interpose;
pub mod jemalloc;
pub mod linked;
pub mod live;
pub mod mappings;
pub mod modules;
pub mod next;
pub mod patch;
pub mod pools;
pub mod sample;
pub mod sandbox;
mod signal_frame;
pub mod start;
pub mod totals;
pub mod unwind;

pub use lifetrace_agent::sys::abort;
