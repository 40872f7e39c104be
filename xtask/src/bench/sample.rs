//! What a sample costs the program: allocation and free of a sampled block, with its backtrace.
//!
//! The same program runs with many samples and with none; the difference, divided by the number of
//! samples, is the cost of one. Two depths give the cost of a frame.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};

use super::callgrind::Callgrind;
use super::program;
use super::record::Record;
use super::run::Runner;
use super::spread::{Spread, spread};
use super::variant::lifetrace;
use super::workload::workload;

/// Frames on the stack, the agent's own not counted.
const DEPTHS: [u32; 2] = [20, 100];

const ROUNDS: usize = 9;

/// Blocks in a timed run.
const BLOCKS: u64 = 1_000_000;

/// Blocks in the two counted runs, whose difference leaves out the start.
const COUNTED: [u64; 2] = [20_000, 60_000];

const SAMPLED: &[&str] = &["--interval", "4KiB", "--seed", "1"];
const UNSAMPLED: &[&str] = &["--interval", "1024GiB"];

const COLUMNS: &str = "depth,rounds,ns_per_sample,ns_per_sample_low,ns_per_sample_high,\
    instructions_per_sample,ns_per_frame,instructions_per_frame,lost";

/// What a sample costs at a depth.
struct Cost {
    depth: u32,
    nanoseconds: Spread,
    instructions: f64,
    lost: u64,
}

/// Measures both depths.
///
/// # Errors
/// If something cannot be built or run.
pub fn run() -> Result<()> {
    let folder = program::folder()?;
    let runner = Runner::build(&folder)?;
    let callgrind = Callgrind::new(&folder, runner.lifetrace().into())?;
    let fixture = program::c(&folder, "sample")?;
    let mut costs = Vec::new();
    for depth in DEPTHS {
        let (nanoseconds, lost) = timed(&runner, &fixture, depth)?;
        let instructions = counted(&callgrind, &fixture, depth)?;
        costs.push(Cost { depth, nanoseconds, instructions, lost });
    }
    let mut record = Record::open("sample", COLUMNS)?;
    println!("{COLUMNS}");
    rows(&costs).iter().try_for_each(|row| record.add(row))
}

/// Nanoseconds of a sample, and how many events were lost: what is lost is not paid for in full.
fn timed(runner: &Runner, fixture: &Path, depth: u32) -> Result<(Spread, u64)> {
    let workload = workload("sample", command(fixture, depth, BLOCKS));
    let (with, without) = (lifetrace("sampled", SAMPLED), lifetrace("unsampled", UNSAMPLED));
    let (mut costs, mut lost) = (Vec::new(), 0);
    for _ in 0..ROUNDS {
        let off = runner.run(0, &workload, &without)?;
        let on = runner.run(0, &workload, &with)?;
        let samples = on.left.samples.context("a recorded run has samples")?;
        costs.push((on.target.cpu - off.target.cpu) * 1e9 / samples as f64);
        lost += on.left.lost.unwrap_or(0);
    }
    Ok((spread(costs).context("no rounds")?, lost))
}

/// Instructions of a sample.
fn counted(callgrind: &Callgrind, fixture: &Path, depth: u32) -> Result<f64> {
    let mut more = [0.0; 2];
    let mut samples = [0.0; 2];
    for (index, blocks) in COUNTED.into_iter().enumerate() {
        let command = command(fixture, depth, blocks);
        let without = callgrind.count(UNSAMPLED, &[], &command)?;
        let with = callgrind.count(SAMPLED, &[], &command)?;
        more[index] = with as f64 - without as f64;
        samples[index] = callgrind.samples()? as f64;
    }
    Ok((more[1] - more[0]) / (samples[1] - samples[0]))
}

fn command(fixture: &Path, depth: u32, blocks: u64) -> Vec<OsString> {
    vec![fixture.into(), depth.to_string().into(), blocks.to_string().into()]
}

/// A frame's cost is seen from two depths, so it stands in the row of the deeper one.
fn rows(costs: &[Cost]) -> Vec<String> {
    let row = |index: usize| {
        let cost = &costs[index];
        let frame = |value: fn(&Cost) -> f64| {
            let shallower = &costs[index.checked_sub(1)?];
            Some((value(cost) - value(shallower)) / f64::from(cost.depth - shallower.depth))
        };
        let cell =
            |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
        let Spread { low, median, high } = cost.nanoseconds;
        format!(
            "{},{ROUNDS},{median:.0},{low:.0},{high:.0},{:.0},{},{},{}",
            cost.depth,
            cost.instructions,
            cell(frame(|cost| cost.nanoseconds.median)),
            cell(frame(|cost| cost.instructions)),
            cost.lost,
        )
    };
    (0..costs.len()).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_costs_what_depth_adds() {
        let cost = |depth, median, instructions| {
            let nanoseconds = Spread { low: median - 1.0, median, high: median + 1.0 };
            Cost { depth, nanoseconds, instructions, lost: 0 }
        };
        let rows = rows(&[cost(20, 1000.0, 4000.0), cost(100, 1800.0, 8000.0)]);
        assert_eq!(
            rows,
            ["20,9,1000,999,1001,4000,,,0", "100,9,1800,1799,1801,8000,10.00,50.00,0"]
        );
    }
}
