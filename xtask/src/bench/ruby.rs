//! What recording costs Ruby programs: their objects and malloc, as `record` does it unasked and at higher rates.
//!
//! As [`native`], in the same rounds.

use anyhow::Result;

use super::native::{self, wanted};
use super::options::Options;
use super::record::Record;
use super::row::COLUMNS;
use super::ruby_workload::PLANS;
use super::run::Runner;
use super::variant::{BARE, Variant, lifetrace, plain};
use super::{need, program};
use crate::bench::workload::Share;

/// The record's name.
const RECORD: &str = "ruby";

/// Rates are per object; malloc is sampled once in 512 KiB.
const VARIANTS: &[Variant] = &[
    plain(BARE, BARE, &[], &[]),
    plain("bare-again", BARE, &[], &[]),
    lifetrace("malloc-alone", &["--sources", "native"]),
    lifetrace("default", &[]),
    lifetrace("1e-2", &["--rate", "1e-2", "--interval", "512KiB"]),
    Variant { slow: true, ..lifetrace("all-objects", &["--rate", "1", "--interval", "512KiB"]) },
];

/// The most that a workload may take in a variant, as a multiple of the bare program's processor time.
const LIMITS: &[(&str, &str, f64)] =
    &[("asciidoctor", "1e-2", 1.06), ("asciidoctor", "all-objects", 1.6)];

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
