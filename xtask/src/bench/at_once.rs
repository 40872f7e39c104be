//! All variants of a round at the same time.
//!
//! One run at a time is at the mercy of a machine that is slower now than a second ago: on a shared one
//! the same run takes half as long again from one time to the next, and a ratio of two runs is worth
//! little. Here all targets of a round share one processor. The kernel gives each a few milliseconds in
//! turn, so whatever slows the machine down slows all of them, and their ratio stays. Recorders run on the
//! other processors.
//!
//! What it does not show: wall time; and what a recorder takes from its target by its use of caches and memory
//! that all processors share, since that slows the bare program just as much.

use std::path::Path;
use std::thread;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;

use super::native::accepting;
use super::ocaml_workload::Plan;
use super::row::Rounds;
use super::run::{Run, Runner};
use super::variant::Variant;
use super::workload::Workload;

/// A variant, with inputs and outputs of its own.
struct Lane {
    variant: &'static Variant,
    workload: Workload,
    runner: Runner,
}

/// Runs the workload of `plan` in all variants at the same time, so many rounds.
///
/// # Errors
/// If a run fails, or the machine has one processor.
pub fn measure(
    runner: &Runner,
    plan: &Plan,
    folder: &Path,
    variants: &[&'static Variant],
    rounds: usize,
) -> Result<Rounds> {
    ensure!(thread::available_parallelism()?.get() > 1, "recorders need a second processor");
    let lane = |&variant: &&'static Variant| {
        let folder = folder.join("at-once").join(variant.name);
        let runner = runner.among_others(folder.clone())?;
        Ok(Lane { variant, workload: plan.make(&folder)?, runner })
    };
    let mut lanes: Vec<Lane> = variants.iter().map(lane).collect::<Result<_>>()?;
    let first = lanes.first().context("bare is always measured")?;
    let variants = accepting(variants, &first.workload);
    lanes.retain(|lane| variants.iter().any(|one| one.name == lane.variant.name));
    run_all(0, &lanes).context("the first round, which is not counted")?;
    let mut results = Rounds::new(&variants);
    for round in 0..rounds {
        Rng::with_seed(round as u64).shuffle(&mut lanes);
        for (lane, run) in lanes.iter().zip(run_all(round, &lanes)?) {
            results.add(round, lane.variant, run);
        }
    }
    Ok(results)
}

fn run_all(round: usize, lanes: &[Lane]) -> Result<Vec<Run>> {
    thread::scope(|scope| {
        let run = |lane: &Lane| lane.runner.run(round, &lane.workload, lane.variant);
        let running: Vec<_> = lanes.iter().map(|lane| scope.spawn(move || run(lane))).collect();
        running.into_iter().map(|thread| thread.join().expect("a run does not panic")).collect()
    })
}
