//! Snapshots of heaps while a command is recorded.

use std::time::Duration;

use lifetrace_recorder::{SNAPSHOT_MEMORY, SnapshotPlan};
use signal_hook::consts::{SIGHUP, SIGUSR1, SIGUSR2};

use super::quantity;

/// Above these options in `--help`.
const HEADING: &str = "Snapshots of the heaps of OCaml and Ruby programs";

/// When snapshots are taken.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Take a snapshot of each process when lifetrace itself is sent this signal: HUP, USR1 or USR2
    #[arg(help_heading = HEADING, id = "on", long = "snapshot-on", value_name = "SIGNAL", value_parser = signal)]
    pub(super) on: Option<SnapshotSignal>,
    /// Take one each time so much has passed: 60s, 5m
    #[arg(help_heading = HEADING, id = "every", long = "snapshot-every", value_name = "TIME", value_parser = time)]
    every: Option<Duration>,
    /// Take one when a program ends by itself
    #[arg(help_heading = HEADING, id = "at_exit", long = "snapshot-at-exit")]
    at_exit: bool,
    /// Take one after each N collections of the old heap
    #[arg(help_heading = HEADING, id = "after_gc", long = "snapshot-after-gc", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    after_gc: Option<u64>,
    /// Take one when resident memory has come to be more than this: 'rss > 2GB'
    #[arg(help_heading = HEADING, id = "when", long = "snapshot-when", value_name = "CONDITION", value_parser = condition)]
    when: Option<u64>,
    /// Give a snapshot up rather than take more memory than this beside the process's own
    #[arg(help_heading = HEADING, id = "memory", long = "snapshot-memory", value_name = "SIZE", default_value_t = Size(SNAPSHOT_MEMORY), value_parser = size)]
    memory: Size,
}

/// A signal that means a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct SnapshotSignal(pub(super) i32);

/// A size that says itself as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size(u64);

impl std::fmt::Display for Size {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}MiB", self.0 >> 20)
    }
}

impl Args {
    pub(super) fn plan(&self, overwrite: bool) -> SnapshotPlan {
        SnapshotPlan {
            every: self.every,
            at_exit: self.at_exit,
            after_collections: self.after_gc,
            above_resident: self.when,
            memory: self.memory.0,
            overwrite,
        }
    }
}

fn signal(name: &str) -> Result<SnapshotSignal, String> {
    let upper = name.to_ascii_uppercase();
    match upper.strip_prefix("SIG").unwrap_or(&upper) {
        "HUP" => Ok(SnapshotSignal(SIGHUP)),
        "USR1" => Ok(SnapshotSignal(SIGUSR1)),
        "USR2" => Ok(SnapshotSignal(SIGUSR2)),
        _ => Err("not HUP, USR1 or USR2".to_owned()),
    }
}

/// What comes more often takes more time than it leaves.
const SHORTEST: Duration = Duration::from_millis(100);

fn time(text: &str) -> Result<Duration, String> {
    let time = quantity::span(text)?;
    if time < SHORTEST { Err("must be at least 100ms".to_owned()) } else { Ok(time) }
}

fn size(text: &str) -> Result<Size, String> {
    quantity::size(text).map(Size)
}

/// `rss > SIZE`, in bytes.
fn condition(text: &str) -> Result<u64, String> {
    let size = text.trim().strip_prefix("rss").and_then(|rest| rest.trim_start().strip_prefix('>'));
    let size = size.ok_or("not a condition such as 'rss > 2GB'")?;
    quantity::size(size.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_typed() {
        assert_eq!(signal("hup"), Ok(SnapshotSignal(SIGHUP)));
        assert_eq!(signal("SIGUSR2"), Ok(SnapshotSignal(SIGUSR2)));
        assert!(signal("KILL").is_err() && time("1ms").is_err() && time("1m").is_ok());
        assert_eq!(condition("rss > 2GB"), Ok(2_000_000_000));
        assert_eq!(condition(" rss>64MiB "), Ok(64 << 20));
        for odd in ["rss", "rss > ", "rss < 2GB", "heap > 2GB", "2GB", "rss > 0"] {
            assert!(condition(odd).is_err(), "{odd}");
        }
    }
}
