//! What recording costs Python programs, beside memray and tracemalloc.
//!
//! As [`native`], in the same rounds. memray is told to trace small objects or not, tracemalloc keeps 25 frames of each block.

use std::path::Path;

use anyhow::Result;

use super::native::{self, wanted};
use super::options::Options;
use super::record::Record;
use super::row::COLUMNS;
use super::run::Runner;
use super::variant::{BARE, Means, Variant, lifetrace, plain};
use super::workload::{self, Plan, Share, Workload, workload};
use super::{need, program};
use crate::{python_programs, shell};

/// The record's name.
const RECORD: &str = "python";

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

/// Measures the workloads and variants that are wanted and can be run here.
///
/// # Errors
/// If something cannot be built, run or written.
pub fn run(words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?.one_at_a_time()?;
    options.check_names(PLANS.iter().map(|one| one.name), VARIANTS.iter().map(|one| one.name))?;
    let variants = wanted(VARIANTS, &options);
    let mut record = options.recorded.then(|| Record::open(RECORD, COLUMNS)).transpose()?;
    let folder = program::folder()?;
    let runner = Runner::build(&folder)?;
    println!("{COLUMNS}");
    for plan in PLANS.iter().filter(|plan| options.wants_workload(plan.name)) {
        if need::is_met(plan.name, plan.needs) {
            let workload = plan.make(&folder, Share(100))?;
            let rounds = native::measure(&runner, &workload, &variants, options.rounds)?;
            native::tell(plan.name, &rounds, record.as_mut(), LIMITS)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::variant::tests::check_baselines;
    use super::*;

    #[test]
    fn a_baseline_stands_before_what_is_compared_with_it() {
        check_baselines(VARIANTS);
    }

    #[test]
    fn limits_are_of_what_is_measured() {
        for (workload, variant, _) in LIMITS {
            assert!(PLANS.iter().any(|plan| plan.name == *workload), "{workload}");
            assert!(VARIANTS.iter().any(|one| one.name == *variant), "{variant}");
        }
    }
}
