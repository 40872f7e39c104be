//! What recording costs Python programs, beside memray and tracemalloc.
//!
//! As [`native`](super::native), in the same rounds. memray is told to trace small objects or not, tracemalloc keeps 25 frames of each block.

use std::path::Path;

use anyhow::Result;

use super::native::Bench;
use super::variant::{BARE, Means, Variant, lifetrace, plain};
use super::workload::{self, Plan, Share, Workload, workload};
use crate::{python_programs, shell};

const VARIANTS: &[Variant] = &[
    plain(BARE, BARE, &[], &[]),
    plain("bare-again", BARE, &[], &[]),
    lifetrace("512KiB", &[]),
    lifetrace("without-small", &["--no-small-objects"]),
    lifetrace("64KiB", &["--interval", "64KiB"]),
    memray("memray", &[]),
    memray("memray-small", &["--trace-python-allocators"]),
    Variant { slow: true, ..plain("tracemalloc", BARE, &[], &["PYTHONTRACEMALLOC=25"]) },
];

/// Ten million small objects a second; and arrays and tables.
const PLANS: &[Plan] = &[
    Plan { name: "pymalloc", needs: &[("/usr/bin/python3", "python3")], make: workload::pymalloc },
    Plan { name: "tables", needs: &[], make: tables },
];

/// The most that a workload may take in a variant, as a multiple of the bare program's processor time.
const LIMITS: &[(&str, &str, f64)] = &[("pymalloc", "512KiB", 1.03), ("tables", "512KiB", 1.03)];

const fn memray(name: &'static str, options: &'static [&'static str]) -> Variant {
    Variant { means: Means::Memray(options), slow: true, ..plain(name, BARE, &[], &[]) }
}

fn tables(_: &Path, _: Share) -> Result<Workload> {
    let script = shell::root().join("fixtures/targets/python/programs/tables.py");
    let python = python_programs::command("python")?;
    Ok(workload("tables", vec![python.into(), script.into()]))
}

const BENCH: Bench = Bench { record: "python", plans: PLANS, variants: VARIANTS, limits: LIMITS };

/// Measures the workloads and variants that are wanted and can be run here.
///
/// # Errors
/// If something cannot be built, run or written.
pub fn run(words: &[&str]) -> Result<()> {
    BENCH.run(words)
}

#[cfg(test)]
mod tests {
    use super::super::native;
    use super::*;

    #[test]
    fn it_compares_and_limits_what_is_measured() {
        native::tests::check(&BENCH);
    }
}
