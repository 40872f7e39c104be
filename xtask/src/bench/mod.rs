//! Benchmarks. Each appends a row per measurement to a dated record under `benchmarks/record`.
//!
//! [`native`] measures whole programs: [`workload`]s in [`variant`]s, one [`run`] at a time or all of a round
//! [`at_once`], whose medians are a [`row`]; [`table`] shows the latest in docs/costs.md. [`instructions`], [`sample`],
//! [`pair`], [`arena`] and [`draws`] count instructions too, which no other load on the machine
//! disturbs. [`trace`] is about reading and writing, [`report`] about what is made of that.

pub mod arena;
mod at_once;
pub mod attached;
mod callgrind;
pub mod churn;
pub mod draws;
pub mod fleet;
mod heaptrack;
pub mod held;
mod inputs;
pub mod inside;
pub mod instructions;
mod latest;
mod launch;
mod left;
pub mod live;
pub mod native;
mod need;
pub mod ocaml;
pub mod ocaml_snapshots;
mod ocaml_workload;
mod options;
pub mod pair;
mod program;
pub mod python;
mod record;
mod redis;
pub mod report;
mod row;
pub mod ruby;
mod ruby_workload;
mod run;
pub mod sample;
pub mod snapshots;
mod spread;
pub mod table;
pub mod trace;
mod variant;
mod verdict;
pub mod viewer;
mod workload;
