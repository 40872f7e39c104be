//! Agent and recorder in one process: what the libraries have in common that programs link in.
//!
//! # The model
//!
//! ```text
//! the program's threads                      │ the recorder's threads, in the same process
//! Running::start ────────────────────────────┼─▶ Collector at a socket that nobody else knows
//!    └─ the agent connects ──────────────────┼─▶ session: segment, trace file
//! samples ─ rings ═══════════════════════════╪═▶ order, symbolize, assemble ─▶ trace file
//! Running::end, exit ────────────────────────┼─▶ all is written
//! ```
//!
//! Nothing here is different from `lifetrace record` but where the recorder runs; and where there is one in
//! another process, that one is joined. What is sampled, and
//! how, is up to the library: OCaml's Memprof, a Rust program's allocator.
//!
//! # Rules
//!
//! - The recorder's threads take no signals and are not sampled; its limit of open files is the
//!   program's own.
//! - There is one recording at a time, and it belongs to the process that has started it ([`cell`]). A
//!   forked child has none of the recorder's threads: it lets go of what is its parent's, untouched.
//! - Where the preload library records the process already, nothing is started ([`preload`]).
//! - A recording that nobody has ended is ended when the program leaves by `exit`.
//!
//! \[UNSAFE\] files: `preload`, `process`, `signals`.

pub mod cell;
pub mod error;
pub mod preload;
pub mod process;
pub mod running;
pub mod signals;
