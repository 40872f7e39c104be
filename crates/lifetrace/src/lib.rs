//! A statistical memory profiler inside your program.
//!
//! Sampled blocks are followed from birth to death: who allocated them (the whole backtrace), how large
//! they are, when they died or that they live. What comes of it is one small file that opens anywhere,
//! without the program. It shows who leaks, who allocates too much, and what filled the memory at its
//! peak, and how far each number is to be trusted.
//!
//! ```no_run
//! #[global_allocator]
//! static ALLOC: lifetrace::Alloc = lifetrace::Alloc::system(); // or ::new(MiMalloc), any GlobalAlloc
//!
//! fn main() -> Result<(), lifetrace::Error> {
//!     let session = lifetrace::record("run.lt")?;
//!     let numbers: Vec<String> = (0..1_000_000).map(|number| number.to_string()).collect();
//!     println!("{} numbers", numbers.len());
//!     let summary = session.stop()?; // or let it go out of scope, or just exit
//!     println!("{} samples", summary.samples);
//!     Ok(())
//! }
//! ```
//!
//! Then `lifetrace report run.lt`, `lifetrace report --view leaks run.lt`, `lifetrace export -F pprof run.lt`.
//! [`Recording`] is for those who want to say more: how densely to sample, labels, a limit of the trace's
//! size. `examples/cli.rs` is a program with an option `--trace`.
//!
//! # What is live now
//!
//! A service has no end at which to look at a trace. [`Recording::live`] starts a session without a file, and
//! any session says at any time what is live, and what was allocated, by backtrace:
//!
//! ```no_run
//! let session = lifetrace::Recording::live().start()?;
//! // ... later, on any thread, while the program runs on:
//! if let Some(now) = session.snapshot() {
//!     println!("{:.0} MB are live", now.live().bytes / 1e6);
//!     std::fs::write("heap.pb.gz", now.to_pprof()?)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`pprof::heap`] and [`pprof::allocs`] answer `/debug/pprof/heap` and `/debug/pprof/allocs` as Go's programs do,
//! for `go tool pprof`, Parca and Pyroscope; [`Snapshot::since`] is for `?seconds=`. `examples/server.rs` does it
//! with axum. Memory is bounded by what is live and by the distinct backtraces.
//!
//! # Callbacks
//!
//! A [`Tracker`](tracker::Tracker) is told of each sampled block: when it is born, with its size, its backtrace and
//! what it stands for; and with what the tracker remembers of it, when it dies. So a program can count
//! sizes by kind of request (`examples/request_sizes.rs`), find out which request leaves memory behind
//! (`examples/request_leaks.rs`), or do what nobody has thought of. It comes beside the trace
//! ([`Recording::tracker`]) or instead of one ([`Recording::only`]), inline or on a thread of its own; the
//! [module](tracker) says what it may do.
//!
//! # Memory that no allocator sees
//!
//! [`external`](fn@external)`("gpu", bytes)` gives a [`Token`] for as long as the memory is there. It is sampled as
//! allocations are: in reports it has a frame `[gpu]`, and `--filter 'source="gpu"'` shows nothing else.
//!
//! # Tests
//!
//! [`testing::measure`] says exactly what a closure allocates, has at its peak, and leaks, and whose it is:
//! `assert_eq!(testing::measure(|| work()).leaked_bytes, 0)`, in any number of tests at a time.
//!
//! # Asynchronous programs
//!
//! With the feature `tracing`, a `spans::SpanLayer` among the program's layers has backtraces begin with the
//! `tracing` spans that a thread is in: the logical stack outside of the executor's. `examples/request_spans.rs`
//! counts by it.
//!
//! # This, or `lifetrace record`?
//!
//! `lifetrace record -- ./program` needs no change of the program, sees what its C and C++ libraries
//! allocate, and follows its children. It needs a dynamically linked program and somebody who starts it
//! so. This crate is for the other cases: static and musl executables, services that are to be looked at
//! while they run, spans of a program's life (a request, a test), programs without any command beside them.
//! It hears what Rust code allocates by the global allocator, and nothing else.
//!
//! Where both meet, `lifetrace record` records, and the session [says so](Session::is_elsewhere): a dynamically
//! linked program without this crate's help; a static one, into which nothing can be loaded, by it, from
//! the start of its sessions to their ends. Then the trace is complete whatever ends the program.
//!
//! What the crate does not do is look for blocks that nothing points to any more, as `lifetrace record` does
//! when a program ends: that takes another process, which stops all threads of this one (`docs/snapshots.md` in
//! the repository has the reasons).
//!
//! # Cost
//!
//! Counted in instructions by a test (`tests/cost.rs`), x86-64, a pair of an allocation and a release:
//!
//! | | more than the inner allocator alone |
//! |---|---|
//! | before a session, and after it | 2, a jump for each; around the system's allocator 9 fewer than by Rust's own way to it |
//! | after a session, as long as blocks that it has sampled live | 4, around the system's |
//! | during a session, a pair that is not sampled | about 14, around the system's |
//! | a [token](fn@external) and its end, before a session | 13 in all |
//! | during a session, if it is not sampled | 20 in all |
//!
//! A sampled block costs some microseconds, for its backtrace above all, and what a
//! tracker does with it, and a few bytes in the trace: one
//! for each 512 KiB, unless more are [asked for](Recording::interval). The recorder's threads take some
//! memory and, where there are samples, time to look names up; they are never sampled themselves. (Without
//! optimisation they are slower, and may be left behind at high rates: a development profile does
//! well to say `[profile.dev.package."*"] opt-level = 2`.) The cost
//! of a session's start and end is in milliseconds. Blocks that are sampled live in a place of their own,
//! where they may take up to a page more than they would elsewhere.
//!
//! # How true it is
//!
//! Each 8-byte word has the same chance to be hit, and a block with a hit is a sample; so estimates of any
//! sum are unbiased, and reports say how far off they may be. With [`interval`](Recording::interval)`(1)`
//! everything is sampled and all is exact. Nothing gets lost then, as threads wait for the recorder; in
//! other sessions the program goes first, and what was lost is told ([`Summary::lost`]).
//!
//! # What is left when a program ends
//!
//! | end | trace |
//! |---|---|
//! | [`Session::stop`], drop, return from `main`, `process::exit`, a panic that unwinds out of `main` | complete |
//! | `abort`, a panic with `panic = "abort"`, a signal, SIGKILL, the OOM killer | readable, up to some time before the end: 2.1 seconds at most as long as the recorder's threads get to run, 0.3 in a trace that is younger than a second |
//! | `_exit`, `exec` | as with a signal |
//!
//! Who wants every sample until the very end of a program that is killed runs it by `lifetrace record`, whose
//! recorder is another process and holds what the program has said: a static program as well.
//!
//! # Processes and threads
//!
//! One session at a time, which may be [paused](Session::pause), [change its rate](Session::set_interval),
//! and be followed by others. Any thread may start, stop and drop it; all
//! threads are heard. A forked child is not recorded, its parent's trace goes on untouched, and it may
//! start a session of its own. The recorder's threads block all signals.
//!
//! # Limits
//!
//! - Linux, on x86-64 and aarch64; glibc and musl, dynamic and static. musl's start code has no unwind
//!   information, so its backtraces are said to lack their outermost frames: those before `main`.
//! - Functions have names if the executable that is on disk has symbols, and lines if it has debug
//!   information (`debug = "line-tables-only"`). It must not be replaced while the session runs.
//! - Memory that does not come from the global allocator is not heard, but by [tokens](fn@external).
//! - A shared library in Rust (cdylib) with a copy of this crate of its own has a session of its own, of its
//!   own blocks, and must not be unloaded after that. A Rust `dylib` cannot have one: the linker refuses it.
//! - An allocation in a signal handler, which Rust does not allow anyway, is not sampled.
//!
//! # Features
//!
//! - `tracing` (off): the module `spans`. It depends on `tracing-core` and `tracing-subscriber`.
//!
//! \[UNSAFE\] files: `alloc`, `detour`, `hooks`, `sampled`.

mod alloc;
mod backtrace;
#[cfg(feature = "tracing")]
mod context;
mod density;
mod detour;
mod error;
mod external;
mod hooks;
mod listening;
mod name_once;
pub mod pprof;
mod recording;
mod sampled;
mod session;
mod snapshot;
#[cfg(feature = "tracing")]
mod span;
#[cfg(feature = "tracing")]
pub mod spans;
mod summary;
pub mod testing;
pub mod tracker;

use std::path::PathBuf;

pub use alloc::Alloc;
pub use backtrace::{Backtrace, Frame};
pub use error::Error;
pub use external::{Token, external};
pub use lifetrace_inside::error::StartError;
pub use recording::Recording;
pub use session::{Session, snapshot};
pub use snapshot::{Amount, Snapshot};
pub use summary::{Loss, Summary};

/// Starts a session that writes its trace to `output`, and samples once for 512 KiB:
/// [`Recording::new`]`(output).`[`start`](Recording::start)`()`.
///
/// # Errors
/// See [`Recording::start`].
pub fn record(output: impl Into<PathBuf>) -> Result<Session, Error> {
    Recording::new(output).start()
}
