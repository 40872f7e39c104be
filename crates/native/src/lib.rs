//! Hears malloc and free.
//!
//! # The model
//!
//! The exported functions of the malloc family ([`interpose`]) take a block's footprint from the
//! thread's countdown and jump to the *next* allocator in the program's link order ([`next`]).
//! When the countdown ends, the block is a sample ([`sample`]): it is placed in a range of
//! addresses of its own, the [`region`], so that `free` knows it by a subtraction and a comparison; its
//! backtrace is captured ([`unwind`]), and it is announced. A sample's header leads to its
//! *extents*: which of its words were hit when they were allocated, and under which name.
//!
//! ```text
//! malloc ─ countdown ─┬─ jump to next malloc
//!                     └─ region block, backtrace, Allocation ──▶ ring
//! free ─── in region? ┬─ jump to next free
//!                     └─ Release of each extent, block back to the region ──▶ ring
//! ```
//!
//! # realloc
//!
//! The words that a realloc adds are new words, hit or not like any others: they form an extent of
//! their own, announced as a growth with the realloc's backtrace. Words that it drops die.
//! So the bytes allocated are the sum of what was asked for first and of what was added, at any rate.
//!
//! # Allocators in the program
//!
//! Calls of an allocator that the program has in itself cannot be heard by name. The recorder says which of
//! its functions are to be patched ([`patch`]): each begins with a jump to a hook of [`families`] then, and goes
//! on in a copy of its first instructions.
//!
//! # Threads and locks
//!
//! No lock is held while the unwinder or the loader is called; every wait is bounded; a `free`
//! never waits (a block whose heap is busy is handed to the next holder of its lock).
//!
//! \[UNSAFE\] files: `arena`, `boot`, `cxx`, `executable`, `families/{hooks,live,mod}`,
//! `heap/{mod,range,runs,spans}`, `interpose`, `jemalloc/*`, `modules`, `next`, `patch/{island,mod}`, `region`, `sample`, `sandbox`, `signal_frame`, `start`, `totals`,
//! `unwind/*`.

#![no_std]
#![cfg_attr(test, allow(clippy::undocumented_unsafe_blocks, reason = "tests own what they touch"))]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod arena;
pub mod boot;
pub mod classes;
pub mod cxx;
pub mod executable;
pub mod families;
pub mod forks;
pub mod heap;
pub mod interpose;
pub mod jemalloc;
pub mod linked;
pub mod modules;
pub mod next;
pub mod patch;
pub mod region;
pub mod sample;
pub mod sandbox;
mod signal_frame;
pub mod start;
pub mod totals;
pub mod unwind;
