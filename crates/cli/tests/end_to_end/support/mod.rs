//! What the tests have in common, one thing per file.

pub mod asking;
#[cfg(target_arch = "x86_64")]
pub mod attached;
pub mod births;
pub mod blocks;
pub mod collecting;
pub mod deviation;
pub mod fixture;
pub mod hazard;
#[cfg(target_arch = "x86_64")]
pub mod late;
pub mod ledger;
pub mod ocaml;
pub mod ocaml_library;
pub mod pprof;
pub mod profile;
pub mod python;
pub mod reader;
pub mod root;
pub mod ruby;
pub mod run;
pub mod running;
pub mod snapshot;
