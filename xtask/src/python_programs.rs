//! The tests with programs and packages of other people's, in a virtual environment of the system's Python.

use std::path::Path;
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
    let folder = shell::target_folder()?.join("python-programs");
    let python = folder.join("bin/python");
    if !python.exists() {
        shell::run(arguments("/usr/bin/python3", &["-m", "venv"], &folder))?;
    }
    let install = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "-r"];
    shell::run(arguments(python, &install, REQUIREMENTS))?;
    let tests = format!("test --release {} --test end_to_end", shell::WORKSPACE);
    let mut command = shell::cargo_command(&tests);
    command.args(["programs_of_python::", "--", "--ignored"]);
    command.env("LIFETRACE_PYTHON_PROGRAMS", folder);
    shell::run(command)
}

fn arguments(program: impl AsRef<Path>, words: &[&str], last: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.args(words).arg(last.as_ref());
    command
}
