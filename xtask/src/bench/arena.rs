//! That sampling by an arena's limit adds no instruction to a block that is not sampled.
//!
//! The sampler's examples are allocators with a function `allocate` for their fast path. It is counted
//! without sampling, with an interval so long that nothing is hit, and with the usual one.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, ensure};

use super::callgrind::{Callgrind, functions};
use super::need;
use super::program;
use super::record::Record;

const EXAMPLES: [&str; 2] = ["arena", "nursery"];
const BLOCKS: u64 = 1_000_000;

const UNSAMPLED: &[&str] = &["--unsampled"];
const IDLE: &[&str] = &["--interval", "1099511627776"];
const SAMPLED: &[&str] = &["--interval", "524288"];

/// Instructions per block.
struct Count {
    fast_path: f64,
    /// What is done at the limit, by the allocator and by the sampler.
    slow_path: f64,
}

/// Counts, records, and compares.
///
/// # Errors
/// If something cannot be built or run, or a fast path has other instructions with sampling.
pub fn run() -> Result<()> {
    let callgrind = Callgrind::alone(&program::folder()?)?;
    let mut record =
        Record::open("arena", "example,variant,fast_path_per_block,slow_path_per_block")?;
    for example in EXAMPLES {
        let variants = [("unsampled", UNSAMPLED), ("idle", IDLE), ("512KiB", SAMPLED)];
        let program = program::example("lifetrace-sampler", example)?;
        for (name, options) in variants {
            let Count { fast_path, slow_path } = count(&callgrind, &program, options)?;
            record.add(&format!("{example},{name},{fast_path:.4},{slow_path:.4}"))?;
        }
    }
    check()
}

/// Compares only; where there is no valgrind, says so.
///
/// # Errors
/// As [`run`].
pub fn check() -> Result<()> {
    if !need::is_met("the arenas' fast paths", &[("valgrind", "valgrind")]) {
        return Ok(());
    }
    let callgrind = Callgrind::alone(&program::folder()?)?;
    for example in EXAMPLES {
        let program = program::example("lifetrace-sampler", example)?;
        let without = count(&callgrind, &program, UNSAMPLED)?.fast_path;
        let with = count(&callgrind, &program, IDLE)?.fast_path;
        ensure!(without >= 1.0, "{example}: its function `allocate` is not to be found");
        ensure!(
            without == with,
            "{example}: {with} instructions of the fast path with sampling, {without} without"
        );
        eprintln!("{example}: {with:.2} instructions of the fast path, with sampling and without");
    }
    Ok(())
}

fn count(callgrind: &Callgrind, program: &Path, options: &[&str]) -> Result<Count> {
    let mut command: Vec<OsString> = vec![program.into()];
    command.extend(options.iter().map(OsString::from));
    command.push(BLOCKS.to_string().into());
    callgrind.count(&[], &[], &command)?;
    let annotated = callgrind.annotated()?;
    let per_block = |belongs: fn(&str) -> bool| {
        let counts = functions(&annotated).filter(|function| belongs(function.name));
        counts.map(|function| function.count).sum::<u64>() as f64 / BLOCKS as f64
    };
    Ok(Count {
        fast_path: per_block(|name| name.ends_with("::allocate")),
        slow_path: per_block(|name| name.contains("allocate_at") || name.contains("_sampler::")),
    })
}
