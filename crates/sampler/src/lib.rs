//! Which allocations to sample: for authors of allocators, garbage collectors and runtimes.
//!
//! A profiler that follows every block is too slow to leave on; one that follows a few, chosen at
//! random, is not, and what it says of the rest is unbiased. This crate is the choosing: it tells
//! an allocator which blocks are *samples*, at next to no cost for the others. What is done with a
//! sample — a backtrace, a line in a log, a message to a recorder — is the allocator's affair.
//! No std, no allocation, no unsafe code, no thread-local state, no system call.
//!
//! # The model
//!
//! Memory is a stream of 8-byte *words*, allocated one after the other. Each is *hit* with the same
//! small probability, the [`Rate`], independently of all others; a block with a hit is a sample. A
//! block of `n` bytes has [`words`]`(n)` words, at least one, so that every block can be sampled, and
//! is sampled with probability `1 - (1 - rate)^words`: [`Rate::chance`]. Large blocks
//! are certain to be, and small ones are sampled in proportion to their size.
//!
//! Nobody draws a number per word. The words between two hits are drawn instead, as a whole, from
//! the geometric distribution ([`Rate::gap`]); it has no memory, so that what is left of a gap can be
//! thrown away and drawn anew at any time: for another thread, after a fork, when the rate changes.
//!
//! # Which of the two
//!
//! An allocator whose fast path runs per block, like `malloc`, has a [`Countdown`]:
//!
//! ```
//! use lifetrace_sampler::{Countdown, Random, Rate};
//! # use std::alloc::Layout;
//! # let (seed, thread) = (1, 1);
//! # fn place(_: Layout) -> usize { 0 }
//! # fn follow(_block: usize, _size: usize, _chance: f64) {}
//!
//! // One per thread, with the thread's number for a stream: one hit in 512 KiB, on average.
//! let mut countdown = Countdown::new(Rate::every(512 << 10), Random::new(seed, thread));
//!
//! let mut allocate = |layout: Layout| {
//!     let block = place(layout);
//!     if let Some(_hits) = countdown.take(layout.size()) {
//!         follow(block, layout.size(), countdown.rate().chance(layout.size()));
//!     }
//!     block
//! };
//! # allocate(Layout::new::<u64>());
//! ```
//!
//! One that only moves a pointer, a bump allocator or a generational collector's nursery, has nothing
//! to add a countdown to without paying for it. But it compares the pointer with a limit: the
//! [`Arena`] tells it where its memory should *seem* to end, so that the comparison which is there
//! anyhow takes the sample. The examples `arena` and `nursery` are whole allocators, and
//! `cargo xtask bench arena` shows that their fast paths have the same instructions as without sampling.
//!
//! # What samples mean
//!
//! A sampled block stands for `1 / chance` blocks of its kind and `size / chance` bytes, with
//! [`chance`](Rate::chance)`(size)`: add these up, and the sum is right on average, whatever the
//! sizes. Remember the size *at allocation*, in the same unit as was counted, and the rate at
//! that time. The number of hits is there for formats that want it, such as OCaml's `Gc.Memprof`; it
//! gives estimates that are just as unbiased, `hits / rate` words, but vary more.
//!
//! # Death and promotion
//!
//! To say what is alive one must see samples die. How is a matter of the allocator: a bit in the
//! header, a page of their own for sampled blocks (then freeing is one comparison of addresses), a
//! list of samples that is gone through after a collection, as in the example `nursery`. An arena
//! that is reset frees all of its samples.
//!
//! # Randomness
//!
//! [`Random`] is seeded, never by itself: the same seed, streams and allocations give the same samples,
//! on every machine. Each countdown or arena is given a stream of its own. Gaps are exact inversions
//! of 64-bit words (`P(gap >= k)` is right to 2^-64), and cost some five nanoseconds: half of what libm's logarithm
//! takes, a twentieth of a rejection sampler. `benchmarks/record/draws.csv` has the figures.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod arena;
mod countdown;
mod gap;
mod power;
pub mod random;
mod rate;

pub use arena::{Answer, Arena, Growth};
pub use countdown::Countdown;
pub use random::Random;
pub use rate::{Hits, Rate, WORD, footprint, words};
