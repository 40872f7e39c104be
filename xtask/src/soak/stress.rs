//! `stress-ng --malloc` with 4 workers: no crash, no lost event, no growth of agent or recorder.
//!
//! Memory is looked at once a second. It counts as growth when the median of the last fifth of the
//! run is more than a tenth and 1 MiB above that of the second fifth: the first fifth is left to
//! the workers, who fill their tables in it, and what the agents have goes up and down with them.

use std::fs::File;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Result, ensure};

use super::workshop::Workshop;
use super::{package, smaps};

const WORKERS: &str = "4";
const MOMENT: Duration = Duration::from_secs(1);
const SLACK: u64 = 1 << 20;

/// Runs it for so many minutes.
///
/// # Errors
/// If it fails, or cannot be run.
pub fn run(minutes: u64) -> Result<()> {
    package::need("stress-ng", "stress-ng")?;
    let workshop = Workshop::open("stress")?;
    let (traces, log) = (workshop.fresh_folder("traces")?, workshop.path("log"));
    let mut command = workshop.record(&[], &traces);
    let seconds = format!("{}s", minutes * 60);
    command.args(["stress-ng", "--malloc", WORKERS, "--timeout", &seconds, "--metrics-brief"]);
    let file = File::create(&log)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let (status, memory) = watch(command.spawn()?)?;
    let found = workshop.look_through(&traces, &log)?;
    println!("{} traces with {} samples; {status}", found.count, found.samples);
    let agents = growth("agents of all processes", memory.iter().map(|it| it.agents));
    let recorder = growth("recorder", memory.iter().map(|it| it.recorder));
    ensure!(status.success(), "see {}", log.display());
    ensure!(found.complaints.is_empty(), "{}", found.complaints.join("\n"));
    agents.and(recorder)
}

/// Resident bytes at one moment.
struct Memory {
    agents: u64,
    recorder: u64,
}

fn watch(mut recorder: Child) -> Result<(ExitStatus, Vec<Memory>)> {
    let (pid, mut memory) = (recorder.id(), Vec::new());
    loop {
        if let Some(status) = recorder.try_wait()? {
            // The workers end one after the other: what the last looks saw is not the whole.
            memory.truncate(memory.len().saturating_sub(3));
            return Ok((status, memory));
        }
        let (agents, own) = (smaps::agents_bytes(pid), smaps::resident_bytes(pid));
        memory.push(Memory { agents, recorder: own });
        // Looks that were missed while everything was stopped are not made up for: they would see the end.
        std::thread::sleep(MOMENT);
    }
}

/// Prints the figures of what was seen of `whose` memory, and says whether it grew.
pub(super) fn growth(whose: &str, seen: impl Iterator<Item = u64>) -> Result<()> {
    let seen: Vec<u64> = seen.collect();
    let fifth = seen.len() / 5;
    ensure!(fifth > 0, "the run was too short to say anything");
    let (early, late) = (median(&seen[fifth..2 * fifth]), median(&seen[seen.len() - fifth..]));
    ensure!(early > 0 && late > 0, "the memory of the {whose} was not seen");
    let most = seen.iter().max().unwrap_or(&0);
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "{whose}: {:.1} MiB in the second fifth, {:.1} MiB in the last, {:.1} MiB at most",
        mebibytes(early),
        mebibytes(late),
        mebibytes(*most)
    );
    ensure!(late <= early + early / 10 + SLACK, "the memory of the {whose} grew");
    Ok(())
}

fn median(numbers: &[u64]) -> u64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_told_from_ups_and_downs() {
        let steady = (0..100).map(|second| (40 + second % 3) << 20);
        assert!(growth("nobody", steady).is_ok());
        let leak = (0..100).map(|second| (40 + second / 5) << 20);
        assert!(growth("nobody", leak).is_err());
        assert!(growth("nobody", [1, 2, 3].into_iter()).is_err());
    }
}
