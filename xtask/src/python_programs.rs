//! Programs and packages of other people's, in a virtual environment of the system's Python: for tests, and for benchmarks.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::{shell, tools};

/// What is in it, with versions.
const REQUIREMENTS: &str = "fixtures/targets/python/programs/requirements.txt";

/// Makes the environment, or brings it up to date, and runs the tests.
///
/// # Errors
/// If a package cannot be had, or a test fails.
pub fn test() -> Result<()> {
    tools::ensure()?;
    let python = command("python")?;
    if !python.exists() {
        shell::run(words("/usr/bin/python3", &["-m", "venv"], folder()?))?;
    }
    let install = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "-r"];
    shell::run(words(python, &install, REQUIREMENTS))?;
    let tests = format!("test --release {} --test end_to_end", shell::WORKSPACE);
    let mut command = shell::cargo_command(&tests);
    command.args(["programs_of_python::", "--", "--ignored"]);
    command.env("LIFETRACE_PYTHON_PROGRAMS", folder()?);
    shell::run(command)
}

fn folder() -> Result<PathBuf> {
    Ok(shell::target_folder()?.join("python-programs"))
}

/// A command of the environment's, whether it is there or not.
///
/// # Errors
/// If cargo does not say where its folder is.
pub fn command(name: &str) -> Result<PathBuf> {
    Ok(folder()?.join("bin").join(name))
}

/// Whether the environment has a command.
pub fn has(name: &str) -> bool {
    command(name).is_ok_and(|path| path.exists())
}

fn words(program: impl AsRef<Path>, words: &[&str], last: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.args(words).arg(last.as_ref());
    command
}
