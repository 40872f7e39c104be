//! What long use makes of an allocator's memory, bare and recorded.
//!
//! A program replaces blocks at random, always the same ones, and says how much memory is resident at the
//! end. Sampled blocks are the allocator's own, so it should be what it is without them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::program;
use super::record::Record;

/// About 80 seconds of processor time with glibc's allocator on the machines of the record, bare: each block is
/// replaced a thousand times.
const PAIRS: &str = "200000000";

/// Allocators as Debian ships them, preloaded; glibc's is there anyway.
const ALLOCATORS: [(&str, &str); 4] = [
    ("glibc", ""),
    ("jemalloc", "libjemalloc.so.2"),
    ("tcmalloc", "libtcmalloc_minimal.so.4"),
    ("mimalloc", "libmimalloc.so.2"),
];

const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";

const INTERVALS: [&str; 2] = ["512KiB", "64KiB"];

/// Runs all of them, each bare and at both intervals at once, for `pairs` replacements.
///
/// # Errors
/// If something cannot be built or run.
pub fn run(pairs: Option<&str>) -> Result<()> {
    let pairs = pairs.unwrap_or(PAIRS);
    let folder = program::folder()?;
    let (lifetrace, churn) = (program::lifetrace()?, program::c(&folder, "churn")?);
    let mut record = Record::open("churn", "allocator,pairs,interval,resident_kib,ratio")?;
    for (allocator, library) in ALLOCATORS {
        let start = |recording: Option<&str>| {
            command(&lifetrace, &churn, recording, library, pairs, &folder).spawn()
        };
        let bare = start(None)?;
        let recorded = INTERVALS.map(|interval| start(Some(interval)));
        let bare = resident(bare)?;
        record.add(&format!("{allocator},{pairs},,{bare},"))?;
        for (interval, child) in INTERVALS.iter().zip(recorded) {
            let kib = resident(child?)?;
            let ratio = kib as f64 / bare as f64;
            record.add(&format!("{allocator},{pairs},{interval},{kib},{ratio:.4}"))?;
        }
    }
    Ok(())
}

fn command(
    lifetrace: &Path,
    churn: &Path,
    interval: Option<&str>,
    library: &str,
    pairs: &str,
    folder: &Path,
) -> Command {
    let mut command = match interval {
        None => Command::new(churn),
        Some(interval) => {
            let mut command = Command::new(lifetrace);
            let trace = folder.join(format!("churn.{interval}.lt"));
            command.args(["record", "-q", "-f", "--seed", "1", "--interval", interval, "-o"]);
            command.arg(trace).arg("--").arg(churn);
            command
        }
    };
    if !library.is_empty() {
        // The recorder has it, too, which does not matter to the program.
        command.env("LD_PRELOAD", PathBuf::from(LIBRARIES).join(library));
    }
    command.arg(pairs).stdout(std::process::Stdio::piped());
    command
}

/// What the program says at its end.
fn resident(child: std::process::Child) -> Result<u64> {
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the program ended with {}", output.status);
    let said = String::from_utf8_lossy(&output.stdout);
    said.trim().parse().with_context(|| format!("not a number: {said:?}"))
}
