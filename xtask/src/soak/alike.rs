//! Programs that look recorded as they do bare: the rule of several soaks, and their runs.
//!
//! Each program runs bare, and recorded at three densities, over and over: samples are by chance, and so
//! are addresses. A failure is another output or another exit code than that of the bare run, a run that
//! does not end, or a trace that cannot be read to its end.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};

use super::workshop::Workshop;

/// Of each program at each density.
const RUNS: usize = 20;

/// Seconds after which a run is taken to hang.
const PATIENCE: &str = "120";

const DENSITIES: [&[&str]; 3] = [&["--rate", "1"], &["--interval", "4KiB"], &[]];

/// A program, and the words that start it.
pub struct Program {
    pub name: &'static str,
    pub words: Vec<String>,
}

impl Program {
    /// With a copy of these words.
    pub fn new<Word: AsRef<OsStr>>(name: &'static str, words: &[Word]) -> Program {
        let copied = |word: &Word| word.as_ref().to_string_lossy().into_owned();
        Program { name, words: words.iter().map(copied).collect() }
    }
}

/// What has been run so far.
pub struct Alike {
    workshop: Workshop,
    folder: PathBuf,
    so_far: Figures,
}

#[derive(Clone, Copy, Default)]
struct Figures {
    runs: usize,
    failures: usize,
    samples: u64,
}

impl Alike {
    /// For the soak `name`.
    ///
    /// # Errors
    /// If the command cannot be built, or a folder not be made.
    pub fn open(name: &str) -> Result<Alike> {
        let workshop = Workshop::open(name)?;
        let folder = workshop.fresh_folder("work")?;
        Ok(Alike { workshop, folder, so_far: Figures::default() })
    }

    /// The one in which programs run.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs the program `words` bare and recorded, and prints what came of it.
    ///
    /// # Errors
    /// If it cannot be run bare.
    pub fn check(&mut self, name: &str, words: &[String]) -> Result<()> {
        let bare = self.finish(Command::new(&words[0]), &words[1..])?;
        ensure!(bare.status.success(), "{name} does not run bare: {bare:?}");
        let before = self.so_far;
        for density in DENSITIES {
            for _ in 0..RUNS {
                self.so_far.runs += 1;
                if let Err(failure) = self.compare(&bare, density, words) {
                    self.so_far.failures += 1;
                    eprintln!("{name}, {density:?}: {failure:#}");
                }
            }
        }
        println!("{name}: {}", self.so_far.since(before));
        Ok(())
    }

    /// Prints the figures of all.
    ///
    /// # Errors
    /// If a run failed, or there was none.
    pub fn verdict(self) -> Result<()> {
        let Figures { runs, failures, .. } = self.so_far;
        ensure!(failures == 0, "{failures} of {runs} runs are not as the bare run");
        ensure!(runs > 0, "nothing was run: there is nothing of that name");
        println!("{}: each as it is bare", self.so_far);
        Ok(())
    }

    fn compare(&mut self, bare: &Output, density: &[&str], words: &[String]) -> Result<()> {
        let traces = self.workshop.fresh_folder("traces")?;
        let recorded = self.finish(self.workshop.record(density, &traces), words)?;
        let is_alike = (recorded.status, &recorded.stdout) == (bare.status, &bare.stdout);
        ensure!(is_alike, "{recorded:?}");
        for trace in fs::read_dir(traces)? {
            self.so_far.samples += self.workshop.info(&trace?.path())?.samples;
        }
        Ok(())
    }

    /// Lets a command with more words run to its end, or to that of our patience.
    fn finish(&self, command: Command, words: &[String]) -> Result<Output> {
        let mut patient = Command::new("timeout");
        patient.args(["-k", "5", PATIENCE]).arg(command.get_program()).args(command.get_args());
        patient.args(words).current_dir(&self.folder).stdin(Stdio::null());
        patient.output().with_context(|| format!("{patient:?}"))
    }
}

impl Figures {
    fn since(self, before: Figures) -> Figures {
        Figures {
            runs: self.runs - before.runs,
            failures: self.failures - before.failures,
            samples: self.samples - before.samples,
        }
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Figures { runs, failures, samples } = self;
        write!(f, "{runs} runs, {failures} failures, {samples} samples")
    }
}
