//! What a gap between samples costs to draw: with the sampler's logarithm, with libm's, and as
//! rand_distr does it, all from the same generator.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::callgrind::Callgrind;
use super::program;
use super::record::Record;
use super::spread::{Spread, spread};
use crate::shell;

const WAYS: [&str; 3] = ["table", "libm", "rand_distr"];

/// Of a word; the third is one hit in 512 KiB.
const PROBABILITIES: [&str; 4] = ["0.5", "0.01", "1.52588e-5", "1e-6"];

const ROUNDS: usize = 9;
const TIMED: u64 = 3_000_000;
const COUNTED: [u64; 2] = [20_000, 120_000];

/// Measures all ways at all probabilities.
///
/// # Errors
/// If something cannot be built or run.
pub fn run() -> Result<()> {
    let callgrind = Callgrind::alone(&program::folder()?)?;
    let program = program::example("lifetrace-sampler", "draws")?;
    let columns = "how,probability,rounds,ns,ns_low,ns_high,instructions";
    let mut record = Record::open("draws", columns)?;
    println!("{columns}");
    for probability in PROBABILITIES {
        let times = timed(&program, probability)?;
        for (way, times) in WAYS.into_iter().zip(times) {
            let Spread { low, median, high } = spread(times).context("no rounds")?;
            let instructions = counted(&callgrind, &program, way, probability)?;
            record.add(&format!(
                "{way},{probability},{ROUNDS},{median:.2},{low:.2},{high:.2},{instructions:.1}"
            ))?;
        }
    }
    Ok(())
}

/// Nanoseconds of processor time per draw, of each way in each round.
fn timed(program: &Path, probability: &str) -> Result<[Vec<f64>; WAYS.len()]> {
    let mut times = [const { Vec::new() }; WAYS.len()];
    for _ in 0..ROUNDS {
        for (way, times) in WAYS.into_iter().zip(&mut times) {
            let mut command = Command::new(program);
            command.args([way, probability, &TIMED.to_string()]);
            times.push(shell::output(command)?.parse()?);
        }
    }
    Ok(times)
}

fn counted(callgrind: &Callgrind, program: &Path, way: &str, probability: &str) -> Result<f64> {
    let count = |draws: u64| {
        let words = [way, probability, &draws.to_string()].map(OsString::from);
        let command: Vec<OsString> = [program.into()].into_iter().chain(words).collect();
        callgrind.count(&[], &[], &command)
    };
    let [few, many] = COUNTED;
    Ok((count(many)? - count(few)?) as f64 / (many - few) as f64)
}
