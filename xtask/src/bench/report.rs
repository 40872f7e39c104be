//! How long a report takes, and how much memory: `lifetrace report` of synthetic traces.
//!
//! The small traces are as long as the real ones of a JSON parser and of a server that Memtrace's own
//! tools were measured with; the large ones are what months of a busy server leave.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::launch::{self, Launcher, Usage};
use super::program;
use super::record::Record;
use super::spread::{median, spread};
use crate::synth;

/// Stacks, events, and how often a report of that is measured.
struct Trace(&'static str, &'static str, usize);

const TRACES: &[Trace] = &[
    Trace("json", "97k", 9),
    Trace("server", "250k", 9),
    Trace("server", "10M", 3),
    Trace("mixed", "10M", 3),
];

const LARGE: &[Trace] = &[Trace("server", "100M", 1)];

const COLUMNS: &str =
    "stacks,events,bytes,rounds,cores,load,wall_s,wall_low,wall_high,cpu_s,peak_mib";

/// Measures reports of all traces, or of the one that is ten times as long.
///
/// # Errors
/// If something cannot be built or run.
pub fn run(is_large: bool) -> Result<()> {
    let folder = program::folder()?;
    let launcher = Launcher::build(&folder)?;
    let lifetrace = program::lifetrace()?;
    let mut record = Record::open("report", COLUMNS)?;
    println!("{COLUMNS}");
    for trace in if is_large { LARGE } else { TRACES } {
        let path = trace.write(&folder)?;
        let load = load()?;
        let usages = (0..trace.2).map(|_| measure(&launcher, &folder, &lifetrace, &path));
        let row = trace.row(&path, &load, &usages.collect::<Result<Vec<_>>>()?);
        std::fs::remove_file(&path)?;
        record.add(&row?)?;
    }
    Ok(())
}

impl Trace {
    fn write(&self, folder: &Path) -> Result<PathBuf> {
        let path = folder.join("report.lt");
        let name = path.to_str().context("the target folder's name is not UTF-8")?;
        synth::run(&["--stacks", self.0, "--events", self.1, "-f", "-o", name])?;
        Ok(path)
    }

    fn row(&self, path: &Path, load: &str, usages: &[Usage]) -> Result<String> {
        let Self(stacks, events, rounds) = self;
        let bytes = std::fs::metadata(path)?.len();
        let cores = std::thread::available_parallelism()?;
        let wall = spread(usages.iter().map(|usage| usage.wall)).context("nothing measured")?;
        let of = |figure: fn(&Usage) -> f64| median(usages.iter().map(figure)).unwrap_or_default();
        let (cpu, peak) = (of(|usage| usage.cpu), of(|usage| usage.peak_bytes) / 1_048_576.0);
        Ok(format!(
            "{stacks},{events},{bytes},{rounds},{cores},{load},{:.3},{:.3},{:.3},{cpu:.3},{peak:.0}",
            wall.median, wall.low, wall.high
        ))
    }
}

/// How many processes wanted to run in the last minute: times of a busy machine are those of what it
/// was busy with.
fn load() -> Result<String> {
    let text = std::fs::read_to_string("/proc/loadavg")?;
    text.split_whitespace().next().map(str::to_owned).context("/proc/loadavg is empty")
}

fn measure(launcher: &Launcher, folder: &Path, lifetrace: &Path, trace: &Path) -> Result<Usage> {
    let usage = folder.join("report.usage");
    let command: [OsString; 3] = [lifetrace.into(), "report".into(), trace.into()];
    let words = launcher.words(&usage, None, &[], &command);
    let mut command = Command::new(&words[0]);
    let status = command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "lifetrace report: {status}");
    launch::usage(&usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_medians() {
        let usage = |wall: f64| Usage { wall, cpu: 2.0 * wall, peak_bytes: 1_048_576.0 * wall };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lt");
        std::fs::write(&path, "four").unwrap();
        let row = Trace("json", "97k", 3).row(&path, "0.5", &[usage(3.0), usage(1.0), usage(2.0)]);
        let row = row.unwrap();
        assert!(row.starts_with("json,97k,4,3,"), "{row}");
        assert!(row.ends_with(",2.000,1.500,2.500,4.000,2"), "{row}");
        assert_eq!(row.split(',').count(), COLUMNS.split(',').count());
    }
}
