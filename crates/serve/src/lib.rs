//! What a standing recorder answers over HTTP.
//!
//! ```text
//! http: bytes -> Request ─ guard: who may ask ─ route: what is asked ─ Site ─┬─ desk ─ Follower of each process ─ ledger
//!                                                                           │         (live's Book, file after file)
//!       bytes <- Response <─────────────────────────────────────────────────┴─ files: joined, cut ─ report, viewer
//! ```
//!
//! What is counted of a process is read from its trace while that grows, file after file, by the reader that `live` has. What
//! is asked about all of a trace is answered by `report` and `viewer`, of the process's files as one. Requests, who may ask
//! and routes are plain functions without a socket: they are fuzzed.
#![forbid(unsafe_code)]

mod chain;
mod demand;
mod desk;
mod exposition;
mod figures;
mod follower;
pub mod guard;
pub mod http;
mod index;
mod ledger;
mod metrics;
mod processes;
mod profile;
mod pull;
mod rate;
pub mod route;
mod seats;
mod site;
mod snapshot;
pub mod token;
mod unknown;

pub use site::Collecting;
