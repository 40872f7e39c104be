//! What recording costs OCaml programs, what Memtrace costs them, and what the runtime's sampler costs alone.
//!
//! As [`native`], in the same rounds, or with the runs of a round [`at_once`]. What OCaml's collector promotes is
//! recorded beside each ratio: samples take words of the minor heap, which shifts its collections, and so what they find alive.

use std::path::Path;

use anyhow::Result;

use super::native::{self, wanted};
use super::ocaml_workload::{PLANS, Plan};
use super::options::Options;
use super::record::Record;
use super::row::{COLUMNS, PROMOTED_COLUMNS, Rounds};
use super::run::Runner;
use super::variant::{BARE, MEMTRACE, Means, SAMPLER, Variant, built, lifetrace, plain};
use super::verdict::verdict;
use super::{at_once, need, program};

/// The record's name.
const RECORD: &str = "ocaml";

/// The record's name, of what was measured at once.
const RECORD_AT_ONCE: &str = "ocaml-at-once";

/// The program that has Memtrace linked in, which alone makes it faster or slower, and does not use it.
const MEMTRACE_OFF: &str = "memtrace-off";

/// The program with the module that can start the runtime's sampler, which is off.
const SAMPLER_OFF: &str = "sampler-off";

/// Rates are per word; a baseline stands before those that are compared with it.
const VARIANTS: &[Variant] = &[
    plain(BARE, BARE, &[], &[]),
    plain("bare-again", BARE, &[], &[]),
    Variant { means: Means::Floor, ..plain("floor", BARE, &[], &[]) },
    lifetrace("1e-9", &["--rate", "1e-9"]),
    lifetrace("1e-5", &["--rate", "1e-5"]),
    lifetrace("1e-4", &["--rate", "1e-4"]),
    lifetrace("delayed-1e-5", &["--rate", "1e-5", "--delay", "1h"]),
    lifetrace("delayed-1e-4", &["--rate", "1e-4", "--delay", "1h"]),
    built(SAMPLER_OFF, BARE, SAMPLER, &[]),
    built("sampler-1e-5", SAMPLER_OFF, SAMPLER, &["SAMPLING_RATE=1e-5"]),
    built("sampler-1e-4", SAMPLER_OFF, SAMPLER, &["SAMPLING_RATE=1e-4"]),
    built(MEMTRACE_OFF, BARE, MEMTRACE, &[]),
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
    let name = if options.at_once { RECORD_AT_ONCE } else { RECORD };
    let mut record = options.recorded.then(|| Record::open(name, &columns)).transpose()?;
    let folder = program::folder()?;
    let runner = Runner::build(&folder)?;
    println!("{columns}");
    for plan in PLANS.iter().filter(|plan| options.wants_workload(plan.name)) {
        if need::is_met(plan.name, plan.needs) {
            let rounds = measure(&runner, plan, &folder, &variants, &options)?;
            tell(plan.name, &rounds, record.as_mut())?;
        }
    }
    Ok(())
}

fn measure(
    runner: &Runner,
    plan: &Plan,
    folder: &Path,
    variants: &[&'static Variant],
    options: &Options,
) -> Result<Rounds> {
    if options.at_once {
        return at_once::measure(runner, plan, folder, variants, options.rounds);
    }
    native::measure(runner, &plan.make(folder)?, variants, options.rounds)
}

/// Records the rows of a workload, or prints them.
fn tell(workload: &str, rounds: &Rounds, mut record: Option<&mut Record>) -> Result<()> {
    for row in rounds.rows_with_promoted(workload)? {
        match &mut record {
            Some(record) => record.add(&row.to_string())?,
            None => println!("{row}"),
        }
    }
    for (variant, ratios) in rounds.ratios()? {
        if let Some(limit) = limit(workload, variant) {
            println!("{workload} {variant}: {}", verdict(&ratios, limit));
        }
    }
    for (variant, shares) in rounds.recorder_shares(recorder_limit) {
        if limit(workload, variant).is_some() {
            println!("{workload} {variant}, recorder over 0.2 s + 2 %: {}", verdict(&shares, 1.0));
        }
    }
    Ok(())
}

fn limit(workload: &str, variant: &str) -> Option<f64> {
    let found = LIMITS.iter().find(|(one, other, _)| (*one, *other) == (workload, variant));
    found.map(|(_, _, limit)| *limit)
}

/// The most processor time that the recorder may take beside a program that takes so much, both in seconds.
fn recorder_limit(cpu: f64) -> f64 {
    0.2 + 0.02 * cpu
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
