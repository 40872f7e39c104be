//! A folder to work in, and a copy of the command, so that a build meanwhile changes nothing.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::shell;

/// A folder to work in, with a copy of the command.
pub struct Workshop {
    folder: PathBuf,
}

/// What a recorded run has left beside what the program itself has.
#[derive(Debug, Default)]
pub struct Traces {
    /// How many there are; each could be read to its end.
    pub count: u64,
    /// Allocations sampled in all of them.
    pub samples: u64,
    /// What the recorder had to say, line by line: it is quiet unless something is missing.
    pub complaints: Vec<String>,
}

impl Workshop {
    /// An empty one for the soak `name`.
    ///
    /// # Errors
    /// If the command cannot be built, or the folder not be made.
    pub fn open(name: &str) -> Result<Workshop> {
        let lifetrace = command()?;
        let workshop = Workshop { folder: shell::target_folder()?.join("soak").join(name) };
        remake(&workshop.folder)?;
        fs::copy(lifetrace, workshop.lifetrace())?;
        Ok(workshop)
    }

    /// Where a file of this name is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// An empty folder of this name.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn fresh_folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.path(name);
        remake(&folder)?;
        Ok(folder)
    }

    /// The command.
    pub fn lifetrace(&self) -> PathBuf {
        self.path("lifetrace")
    }

    /// `lifetrace record -q` with `options`, and traces in the folder `traces`; the program that it
    /// is to run has yet to be appended.
    pub fn record(&self, options: &[&str], traces: &Path) -> Command {
        let mut command = Command::new(self.lifetrace());
        command.args(["record", "-q"]).args(options).arg("-o").arg(traces.join("%e.%p.lt"));
        command.arg("--").stdin(Stdio::null());
        command
    }

    /// Reads all traces of a folder to their ends, and what the recorder has said in `log`.
    ///
    /// # Errors
    /// If one of the traces is damaged or cut.
    pub fn look_through(&self, traces: &Path, log: &Path) -> Result<Traces> {
        let text = String::from_utf8_lossy(&fs::read(log)?).into_owned();
        let mut found = Traces { complaints: complaints(&text), ..Traces::default() };
        for entry in fs::read_dir(traces)? {
            found.count += 1;
            found.samples += self.info(&entry?.path())?.samples;
        }
        Ok(found)
    }

    /// What `lifetrace info` says of a trace.
    ///
    /// # Errors
    /// If the trace is damaged or cut.
    pub fn info(&self, trace: &Path) -> Result<Info> {
        let (info, damage) = self.info_so_far(trace)?;
        ensure!(damage.is_none(), "{}: {}", trace.display(), damage.unwrap_or_default());
        Ok(info)
    }

    /// What `info` says of a trace that may be cut, and what is wrong at its end.
    ///
    /// # Errors
    /// If it is no trace.
    pub fn info_so_far(&self, trace: &Path) -> Result<(Info, Option<String>)> {
        let mut command = Command::new(self.lifetrace());
        let output = command.args(["info", "--all", "--json"]).arg(trace).output()?;
        let json: serde_json::Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let number = |field: &str| json["trace"][field].as_u64().context("info lacks a field");
        let info = Info {
            samples: number("samples")?,
            unmatched_events: number("unmatched_events")?,
            end_us: number("start_time_us")? + number("duration_us")?,
        };
        let damage = &json["damage"];
        Ok((info, (!damage.is_null()).then(|| damage.to_string())))
    }
}

/// Of one trace.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Allocations sampled.
    pub samples: u64,
    /// Events about blocks that were never allocated.
    pub unmatched_events: u64,
    /// Time of the last event, in microseconds since 1970.
    pub end_us: u64,
}

/// Runs a command whose output goes to the file `log`; returns its exit code, 128 + N for signal N.
///
/// # Errors
/// If it cannot be started.
pub fn run_logged(mut command: Command, log: &Path) -> Result<i32> {
    use std::os::unix::process::ExitStatusExt;
    let file = File::create(log)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let status = command.status().with_context(|| format!("{command:?}"))?;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ok(code),
        (None, Some(signal)) => Ok(128 + signal),
        (None, None) => bail!("{command:?}: {status}"),
    }
}

/// The recorder's own lines; those of its targets' recorders, which have other paths, too.
fn complaints(text: &str) -> Vec<String> {
    text.lines().filter(|line| line.starts_with("lifetrace: ")).map(str::to_owned).collect()
}

/// The command that the variable `LIFETRACE` names; else one that is built now.
fn command() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("LIFETRACE") {
        return Ok(named.into());
    }
    shell::cargo("build --release --package lifetrace-cli")?;
    Ok(shell::target_folder()?.join("release/lifetrace"))
}

fn remake(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}
