//! Hundreds of processes' traces as one dataset, and questions to all of them at once.
//!
//! ```text
//! traces ─→ ingest ─→ tables (Parquet) ─→ log: a commit ─┐
//!                                                        ├─ store: a folder, or an object store
//! answers, query ←─ engine: SQL, here or on a cluster ←──┘
//!                       upkeep: compact, expire, check
//! ```
//!
//! A *dataset* is a folder of Parquet files, and a log that says which of them are in it; `docs/dataset.md` has every
//! column. A *run* is one trace that was added. All amounts are estimates from samples, and each table has the variances
//! beside them.
#![forbid(unsafe_code)]

pub mod answers;
pub mod cluster;
pub mod engine;
pub mod extract;
pub mod ingest;
pub mod log;
pub mod query;
mod stacks;
pub mod store;
pub mod synthetic;
pub mod tables;
pub mod upkeep;
