//! Benchmarks. Each appends a row per measurement to a dated record under `benchmarks/record`.

mod cpu;
pub mod native;
pub mod pair;
mod record;
pub mod trace;
mod workload;
