//! All variants of a round at the same time.
//!
//! One run at a time is at the mercy of a machine that is slower now than a second ago: on a shared one
//! the same run takes half as long again from one time to the next, and a ratio of two runs is worth
//! little. Here all targets of a round share one processor. The kernel gives each a few milliseconds in
//! turn, so whatever slows the machine down slows all of them, and their ratio stays. Recorders run on the
//! other processors.
//!
//! Each run has a folder of its own, and a variant has another one in each round: what is in a folder can
//! matter to a program. (By hand: OCaml's compiler reads the folder that it is called in, and 570 names more moved
//! its collections so that it took 2 % less.)
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

/// Inputs and outputs of one of the runs that are made at the same time.
struct Lane {
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
    let lane = |number: usize| {
        let folder = folder.join("at-once").join(format!("lane-{number}"));
        let runner = runner.among_others(folder.clone())?;
        Ok(Lane { workload: plan.make(&folder)?, runner })
    };
    let mut lanes: Vec<Lane> = (0..variants.len()).map(lane).collect::<Result<_>>()?;
    let first = lanes.first().context("bare is always measured")?;
    let mut variants = accepting(variants, &first.workload);
    lanes.truncate(variants.len());
    let mut results = Rounds::new(&variants);
    run_all(0, &lanes, &variants).context("the first round, which is not counted")?;
    for round in 0..rounds {
        let mut random = Rng::with_seed(round as u64);
        random.shuffle(&mut lanes);
        random.shuffle(&mut variants);
        for (variant, run) in variants.iter().zip(run_all(round, &lanes, &variants)?) {
            results.add(round, variant, run);
        }
    }
    Ok(results)
}

fn run_all(round: usize, lanes: &[Lane], variants: &[&'static Variant]) -> Result<Vec<Run>> {
    thread::scope(|scope| {
        let run = |lane: &Lane, variant: &'static Variant| {
            lane.runner.run(round, &lane.workload, variant)
        };
        let pairs = lanes.iter().zip(variants);
        let running: Vec<_> =
            pairs.map(|(lane, variant)| scope.spawn(move || run(lane, variant))).collect();
        running.into_iter().map(|thread| thread.join().expect("a run does not panic")).collect()
    })
}
