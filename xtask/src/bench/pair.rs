//! What an unsampled pair of malloc and free costs, in instructions.
//!
//! The program runs with two numbers of pairs; the difference leaves out its start, and ours.

use std::path::Path;

use anyhow::Result;

use super::callgrind::Callgrind;
use super::program;
use super::record::Record;

const FEW: u64 = 100_000;
const MANY: u64 = 1_100_000;

/// So long that no pair is sampled.
const UNSAMPLED: &[&str] = &["--interval", "1024GiB"];

/// Counts the instructions of a pair, bare and recorded.
///
/// # Errors
/// If something cannot be built or run, or valgrind prints no count.
pub fn run() -> Result<()> {
    let folder = program::folder()?;
    let callgrind = Callgrind::new(&folder, program::lifetrace()?)?;
    let program = program::c_with(&folder, "pair", &["-O1", "-fno-builtin"])?;
    let mut record = Record::open("pair", "variant,instructions_per_pair")?;
    let bare = per_pair(&callgrind, &[], &program)?;
    let recorded = per_pair(&callgrind, UNSAMPLED, &program)?;
    record.add(&format!("bare,{bare:.1}"))?;
    record.add(&format!("recorded,{recorded:.1}"))?;
    println!("an unsampled pair costs {:.1} instructions more", recorded - bare);
    Ok(())
}

fn per_pair(callgrind: &Callgrind, recording: &[&str], program: &Path) -> Result<f64> {
    let count =
        |pairs: u64| callgrind.count(recording, &[], &[program.into(), pairs.to_string().into()]);
    Ok((count(MANY)? - count(FEW)?) as f64 / (MANY - FEW) as f64)
}
