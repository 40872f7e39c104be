//! Tests that are run bare and recorded, and the verdict over all of them.
//!
//! The verdict is a failure if a case came out differently because of recording ([`compare`]), if a
//! trace cannot be read to its end, or if an event was lost.
//!
//! [`compare`]: super::compare

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::compare::{Outcomes, Runs};
use super::workshop::{Traces, Workshop, run_logged};

/// Short, so that much is sampled.
const INTERVAL: &[&str] = &["--interval", "4KiB"];

/// After so many seconds a program is taken to hang.
const PATIENCE: &str = "1800";

/// Runs of each way after a first difference.
const MORE: usize = 2;

/// Tests that are run bare and recorded, and what came out of them so far.
pub struct Twice {
    workshop: Workshop,
    cases: usize,
    unsteady: Vec<String>,
    faults: Vec<String>,
    remarks: usize,
    traces: Traces,
}

impl Twice {
    /// Nothing has been run.
    pub fn new(workshop: Workshop) -> Twice {
        let (unsteady, faults) = (Vec::new(), Vec::new());
        Twice { workshop, cases: 0, unsteady, faults, remarks: 0, traces: Traces::default() }
    }

    /// Runs the program `words` in an empty folder, both ways; `outcomes` is told its exit code, that
    /// folder, and the file with what it has printed.
    ///
    /// # Errors
    /// If it cannot be run, or its outcomes cannot be read.
    pub fn test(
        &mut self,
        name: &str,
        words: &[OsString],
        outcomes: impl Fn(i32, &Path, &Path) -> Result<Outcomes>,
    ) -> Result<()> {
        let mut runs = Runs::default();
        for _ in 0..=MORE {
            let bare = self.run(name, words, false, &outcomes)?;
            let recorded = self.run(name, words, true, &outcomes)?;
            runs.add(bare, recorded);
            if runs.differences().is_empty() {
                break;
            }
        }
        self.judge(name, &runs);
        Ok(())
    }

    /// Prints the figures.
    ///
    /// # Errors
    /// If there is a fault.
    pub fn verdict(self) -> Result<()> {
        for (kind, lines) in [("unsteady", &self.unsteady), ("FAULT", &self.faults)] {
            lines.iter().for_each(|line| println!("{kind}: {line}"));
        }
        println!(
            "{} cases, {} of them unsteady; {} traces with {} samples, {} remarks, {} faults",
            self.cases,
            self.unsteady.len(),
            self.traces.count,
            self.traces.samples,
            self.remarks,
            self.faults.len()
        );
        ensure!(self.faults.is_empty(), "recording has changed something, or lost something");
        Ok(())
    }

    fn run(
        &mut self,
        name: &str,
        words: &[OsString],
        recorded: bool,
        outcomes: impl Fn(i32, &Path, &Path) -> Result<Outcomes>,
    ) -> Result<Outcomes> {
        let folder = self.workshop.fresh_folder("run")?;
        // Some programs become another user.
        fs::set_permissions(&folder, Permissions::from_mode(0o777))?;
        let way = if recorded { "recorded" } else { "bare" };
        let log = self.workshop.path(&format!("{name}.{way}.log"));
        let mut command = Command::new("timeout");
        command.args(["-k", "10", PATIENCE]).current_dir(&folder);
        if !recorded {
            return outcomes(run_logged(appended(command, words), &log)?, &folder, &log);
        }
        let traces = self.workshop.fresh_folder("traces")?;
        let record = self.workshop.record(INTERVAL, &traces);
        command.arg(record.get_program()).args(record.get_args());
        let code = run_logged(appended(command, words), &log)?;
        match self.workshop.look_through(&traces, &log) {
            Ok(found) => self.note(name, found),
            Err(error) => self.faults.push(format!("{name}: {error:#}")),
        }
        outcomes(code, &folder, &log)
    }

    fn note(&mut self, name: &str, found: Traces) {
        self.traces.count += found.count;
        self.traces.samples += found.samples;
        for line in found.complaints {
            if line.contains(": lost ") || line.contains("incomplete") {
                self.faults.push(format!("{name}: {line}"));
            } else {
                self.remarks += 1;
                eprintln!("{name}: {line}");
            }
        }
    }

    fn judge(&mut self, name: &str, runs: &Runs) {
        self.cases += runs.cases();
        let differences = runs.differences();
        eprintln!("{name}: {} cases, {} differ", runs.cases(), differences.len());
        for case in differences {
            let list = if case.is_ours() { &mut self.faults } else { &mut self.unsteady };
            list.push(format!("{name}: {case}"));
        }
    }
}

fn appended(mut command: Command, words: &[OsString]) -> Command {
    command.args(words);
    command
}
