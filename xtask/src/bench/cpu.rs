//! Processor time of a process and all its children, as bash's `time` gives it.
//!
//! The shell stands between us and the command, so it works inside `lifetrace record` too: there
//! it is the recorded process, and what it measures is the target alone, without the recorder.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

const SCRIPT: &str = "TIMEFORMAT='%3U %3S'; { time \"${@:2}\" >/dev/null 2>&4; } 4>&2 2>\"$1\"";

/// The words of a command that runs `command` and leaves its processor time in the file `times`.
pub fn measured(times: &Path, command: &[OsString]) -> Vec<OsString> {
    let prefix = ["bash".into(), "-c".into(), SCRIPT.into(), "bash".into(), times.into()];
    prefix.into_iter().chain(command.iter().cloned()).collect()
}

/// Seconds of user and system time that a measured command has left in `times`.
///
/// # Errors
/// If the file is not there or says something else.
pub fn seconds(times: &Path) -> Result<f64> {
    let text = std::fs::read_to_string(times).with_context(|| times.display().to_string())?;
    let parts = text.split_whitespace().map(str::parse::<f64>);
    parts.sum::<Result<f64, _>>().with_context(|| format!("bash's time printed {text:?}"))
}

/// Runs `command` and gives its processor time, in seconds.
///
/// # Errors
/// If it fails or cannot be measured.
pub fn run(times: &Path, environment: &[(&str, &str)], command: &[OsString]) -> Result<f64> {
    let words = measured(times, command);
    let mut shell = Command::new(&words[0]);
    shell.args(&words[1..]).envs(environment.iter().copied());
    crate::shell::output(shell)?;
    seconds(times)
}
