//! What recording costs, and what its peers cost: each workload in all variants in turn, compared
//! round by round.
//!
//! The machine gets slower and faster meanwhile; within a round that hardly matters. What has just run may
//! matter, so the order of the variants in a round is left to chance: none always follows the same one. How much it matters after all is seen in the row
//! `bare-again`, in which the bare program is compared with itself.

use anyhow::{Context, Result};
use fastrand::Rng;

use super::options::Options;
use super::record::Record;
use super::row::{COLUMNS, Rounds};
use super::run::Runner;
use super::variant::{VARIANTS, Variant};
use super::verdict::verdict;
use super::workload::{PLANS, Plan, Share, Workload};
use super::{need, program, table};

/// A slow variant is run in one round of so many.
const SLOW_EVERY: usize = 3;

/// Measures the workloads and variants that are wanted and can be run here.
///
/// # Errors
/// If something cannot be built, run or written.
pub fn run(words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?.one_at_a_time()?;
    options.check_names(PLANS.iter().map(|one| one.name), VARIANTS.iter().map(|one| one.name))?;
    let variants = wanted(VARIANTS, &options);
    let mut record = options.recorded.then(|| Record::open(table::RECORD, COLUMNS)).transpose()?;
    let folder = program::folder()?;
    let runner = Runner::build(&folder)?;
    println!("{COLUMNS}");
    for plan in plans(&options) {
        let workload = plan.make(&folder, Share(100))?;
        for row in measure(&runner, &workload, &variants, options.rounds)?.rows(workload.name)? {
            match &mut record {
                Some(record) => record.add(&row.to_string())?,
                None => println!("{row}"),
            }
        }
    }
    if options.recorded { table::write() } else { Ok(()) }
}

fn plans(options: &Options) -> Vec<&'static Plan> {
    let wanted = PLANS.iter().filter(|plan| options.wants_workload(plan.name));
    wanted.filter(|plan| need::is_met(plan.name, plan.needs)).collect()
}

/// Those that are wanted, and what they are compared with.
pub fn wanted(variants: &'static [Variant], options: &Options) -> Vec<&'static Variant> {
    let wanted: Vec<&Variant> =
        variants.iter().filter(|variant| options.wants_variant(variant.name)).collect();
    let needed = |name| wanted.iter().any(|one| one.name == name || one.needs_run_of(name));
    let needed = variants.iter().filter(|variant| needed(variant.name));
    needed.filter(|variant| variant.is_usable()).collect()
}

/// Runs a workload in all variants in turn, so many rounds.
///
/// # Errors
/// If a run fails.
pub fn measure(
    runner: &Runner,
    workload: &Workload,
    variants: &[&'static Variant],
    rounds: usize,
) -> Result<Rounds> {
    let variants = accepting(variants, workload);
    let bare = variants.first().context("bare is always measured")?;
    runner.run(0, workload, bare).context("the first run, which is not counted")?;
    let mut results = Rounds::new(&variants);
    for round in 0..rounds {
        let mut order = variants.clone();
        Rng::with_seed(round as u64).shuffle(&mut order);
        for variant in order {
            if !variant.slow || round % SLOW_EVERY == 0 {
                results.add(round, variant, runner.run(round, workload, variant)?);
            }
        }
    }
    Ok(results)
}

/// Those that can be run with `workload`; says why others can't.
pub fn accepting(variants: &[&'static Variant], workload: &Workload) -> Vec<&'static Variant> {
    let accepts = |variant: &&&Variant| {
        let reason = variant.refuses(workload);
        if let Some(reason) = reason {
            eprintln!("skipped: {} of {}: {reason}", variant.name, workload.name);
        }
        reason.is_none()
    };
    variants.iter().filter(accepts).copied().collect()
}

/// What a benchmark of a language's programs is.
pub struct Bench {
    /// The record's name.
    pub record: &'static str,
    /// What is run.
    pub plans: &'static [Plan],
    /// How.
    pub variants: &'static [Variant],
    /// Of a workload in a variant, the most that it may take, as a multiple of the bare program's processor time.
    pub limits: &'static [(&'static str, &'static str, f64)],
}

impl Bench {
    /// Measures the workloads and variants that are wanted and can be run here.
    ///
    /// # Errors
    /// If something cannot be built, run or written.
    pub fn run(&self, words: &[&str]) -> Result<()> {
        let options = Options::parse(words)?.one_at_a_time()?;
        let names = self.plans.iter().map(|one| one.name);
        options.check_names(names, self.variants.iter().map(|one| one.name))?;
        let variants = wanted(self.variants, &options);
        let mut record =
            options.recorded.then(|| Record::open(self.record, COLUMNS)).transpose()?;
        let folder = program::folder()?;
        let runner = Runner::build(&folder)?;
        println!("{COLUMNS}");
        for plan in self.plans.iter().filter(|plan| options.wants_workload(plan.name)) {
            if need::is_met(plan.name, plan.needs) {
                let workload = plan.make(&folder, Share(100))?;
                let rounds = measure(&runner, &workload, &variants, options.rounds)?;
                self.tell(plan.name, &rounds, record.as_mut())?;
            }
        }
        Ok(())
    }

    /// Records the rows of a workload, or prints them, and whether it keeps to its limits.
    fn tell(&self, workload: &str, rounds: &Rounds, mut record: Option<&mut Record>) -> Result<()> {
        for row in rounds.rows(workload)? {
            match &mut record {
                Some(record) => record.add(&row.to_string())?,
                None => println!("{row}"),
            }
        }
        for (variant, ratios) in rounds.ratios()? {
            let limit =
                self.limits.iter().find(|(one, other, _)| (*one, *other) == (workload, variant));
            if let Some((.., limit)) = limit {
                println!("{workload} {variant}: {}", verdict(&ratios, *limit));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::variant::tests::check_baselines;
    use super::*;

    /// That a baseline stands before what is compared with it, and limits are of what is measured.
    pub fn check(bench: &Bench) {
        check_baselines(bench.variants);
        for (workload, variant, _) in bench.limits {
            assert!(bench.plans.iter().any(|plan| plan.name == *workload), "{workload}");
            assert!(bench.variants.iter().any(|one| one.name == *variant), "{variant}");
        }
    }
}
