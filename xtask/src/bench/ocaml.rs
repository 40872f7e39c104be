//! What recording costs OCaml programs, and what Memtrace costs them.
//!
//! As [`native`](super::native), in the same rounds. What OCaml's collector promotes is recorded beside each ratio:
//! samples take words of the minor heap, which shifts its collections, and so what they find alive.

use anyhow::Result;

use super::native::{measure, wanted};
use super::ocaml_workload::PLANS;
use super::options::Options;
use super::record::Record;
use super::row::{COLUMNS, PROMOTED_COLUMNS, Rounds};
use super::run::Runner;
use super::variant::{BARE, MEMTRACE, Means, Variant, lifetrace, plain};
use super::{need, program};

/// The record's name.
const RECORD: &str = "ocaml";

/// The program that has Memtrace linked in, which alone makes it faster or slower, and does not use it.
const MEMTRACE_OFF: &str = "memtrace-off";

/// Rates are per word; a baseline stands before those that are compared with it.
const VARIANTS: &[Variant] = &[
    plain(BARE, BARE, &[], &[]),
    plain("bare-again", BARE, &[], &[]),
    lifetrace("1e-5", &["--rate", "1e-5"]),
    lifetrace("1e-4", &["--rate", "1e-4"]),
    Variant { means: Means::Built(MEMTRACE, &[]), ..plain(MEMTRACE_OFF, BARE, &[], &[]) },
    memtrace("memtrace-1e-5", "1e-5"),
    memtrace("memtrace-1e-4", "1e-4"),
];

/// The most that a workload may take in a variant, as a multiple of the bare program's processor time.
const LIMITS: &[(&str, &str, f64)] = &[
    ("ocamlopt", "1e-5", 1.01),
    ("ocamlopt", "1e-4", 1.03),
    ("server", "1e-5", 1.01),
    ("server", "1e-4", 1.03),
    ("listmap", "1e-5", 1.01),
    ("listmap", "1e-4", 1.03),
    ("json", "1e-4", 1.10),
];

const fn memtrace(name: &'static str, rate: &'static str) -> Variant {
    Variant { means: Means::Memtrace(rate), ..plain(name, MEMTRACE_OFF, &[], &[]) }
}

/// Measures the workloads and variants that are wanted and can be run here.
///
/// # Errors
/// If something cannot be built, run or written.
pub fn run(words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?;
    options.check_names(PLANS.iter().map(|one| one.name), VARIANTS.iter().map(|one| one.name))?;
    let variants = wanted(VARIANTS, &options);
    let columns = format!("{COLUMNS},{PROMOTED_COLUMNS}");
    let mut record = options.recorded.then(|| Record::open(RECORD, &columns)).transpose()?;
    let folder = program::folder()?;
    let runner = Runner::build(&folder)?;
    println!("{columns}");
    for plan in PLANS.iter().filter(|plan| options.wants_workload(plan.name)) {
        if need::is_met(plan.name, plan.needs) {
            let workload = plan.make(&folder)?;
            let rounds = measure(&runner, &workload, &variants, options.rounds)?;
            tell(workload.name, &rounds, record.as_mut())?;
        }
    }
    Ok(())
}

/// Records the rows of a workload, or prints them.
fn tell(workload: &str, rounds: &Rounds, mut record: Option<&mut Record>) -> Result<()> {
    for row in rounds.rows_with_promoted(workload)? {
        match &mut record {
            Some(record) => record.add(&row.to_string())?,
            None => println!("{row}"),
        }
    }
    for (variant, ratio) in rounds.ratios()? {
        judge(workload, variant, ratio);
    }
    Ok(())
}

/// Says whether a ratio is within its limit, if it has one.
fn judge(workload: &str, variant: &str, ratio: f64) {
    let limit = LIMITS.iter().find(|(one, other, _)| (*one, *other) == (workload, variant));
    if let Some((_, _, limit)) = limit {
        let verdict = if ratio <= *limit { "within" } else { "BEYOND" };
        println!("{workload} {variant}: {ratio:.4}, {verdict} the limit of {limit:.2}");
    }
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
