//! Names the frames of Python in malloc's backtraces, and hears its small objects, from outside, in unmodified programs.
//!
//! # The model
//!
//! CPython runs Python functions in a loop in C, several of which are on a thread's stack if Python calls C which calls
//! Python. What the frames of these functions are is read from the interpreter's own structures:
//!
//! ```text
//! a sample of malloc's ─ its native backtrace ─ mallocs
//!     interpreter: this thread's state ─ walk: its frames, and which native frame runs them (layout, published)
//!     frames: their numbers, and once for each its name, file and line (numbers, text, lines)
//!                                                                      └─▶ Context, FrameName ─▶ ring
//! a small block of its own allocator's ─ small ─ native::pools, as malloc's
//! ```
//!
//! The recorder puts each activation's frames in the place of the native frame that runs them.
//!
//! # Rules
//!
//! - At a sample nothing of Python's is called but two functions that tell a thread's state.
//! - A thread's frames are read on that thread alone. They stay while it is in malloc, and keep alive what is read of them.
//! - A frame whose code is no code object ends the backtrace, marked; so do more than a thousand.
//!
//! \[UNSAFE\] files: `frames`, `interpreter`, `mallocs`, `published`, `read`, `small`, `start`, `text`, `walk`.

#![no_std]

#[cfg(test)]
extern crate std;

mod frames;
mod interpreter;
mod layout;
pub mod lines;
mod mallocs;
mod numbers;
mod published;
mod read;
mod small;
pub mod start;
mod terms;
mod text;
mod version;
mod walk;
