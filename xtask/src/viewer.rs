//! The viewer's browser half: checked, built, compared with what is committed, and tested in Node and in Chromium.
//!
//! Node and Chromium are the system's. Built files are committed, so whoever builds the command needs neither.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{shell, tools};

/// Where its sources are.
const FOLDER: &str = "viewer";

/// The application, as it is in the command.
const BUILT: &str = "crates/viewer/assets/viewer.html";

/// What there must be for any of it.
const NEEDED: [&str; 2] = ["node", "npm"];

const BROWSER: &str = "chromium";

/// Runs all that can be run here; where there is no Node, says that it is skipped.
///
/// # Errors
/// If something fails, or what is built differs from what is committed.
pub fn check() -> Result<()> {
    if let Some(missing) = NEEDED.iter().find(|program| !tools::exists(program)) {
        eprintln!("skipped: the viewer's tests, which need {missing}");
        return Ok(());
    }
    npm(&["ci", "--no-audit", "--no-fund", "--ignore-scripts"])?;
    npm(&["run", "check"])?;
    build()?;
    node_if_there("test/run.mjs", &["unit"])?;
    if !tools::exists(BROWSER) {
        eprintln!("skipped: the viewer's tests in a browser, which need {BROWSER}");
        return Ok(());
    }
    shell::cargo("build --release --package lifetrace-cli")?;
    let lifetrace = shell::target_folder()?.join("release/lifetrace");
    let mut command = node("test/run.mjs", &["browser"]);
    command.env("LIFETRACE_COMMAND", &lifetrace);
    if is_there("test/run.mjs") {
        shell::run(command)?;
    }
    agree(&lifetrace)
}

/// The browser's engine and `lifetrace report` are asked the same, of all traces that are kept.
fn agree(lifetrace: &Path) -> Result<()> {
    const PROGRAM: &str = "test/agree/run.mjs";
    if !is_there(PROGRAM) {
        eprintln!("skipped: {PROGRAM} is not there");
        return Ok(());
    }
    let mut command = node(PROGRAM, &[]);
    shell::run({
        command.arg(lifetrace);
        command
    })
}

/// Builds the application, and refuses one that is not what is committed.
fn build() -> Result<()> {
    let path = shell::root().join(BUILT);
    let committed = std::fs::read(&path).context(BUILT)?;
    npm(&["run", "build"])?;
    let built = std::fs::read(&path).context(BUILT)?;
    ensure!(
        built == committed,
        "{BUILT} is not what its sources make ({} bytes before, {} now): it has been written anew, look at it and commit it",
        committed.len(),
        built.len()
    );
    Ok(())
}

fn npm(words: &[&str]) -> Result<()> {
    let mut command = Command::new("npm");
    command.args(words).current_dir(folder());
    shell::run(command)
}

fn node(program: &str, words: &[&str]) -> Command {
    let mut command = Command::new("node");
    command.arg(program).args(words).current_dir(folder());
    command
}

fn node_if_there(program: &str, words: &[&str]) -> Result<()> {
    if is_there(program) {
        return shell::run(node(program, words));
    }
    eprintln!("skipped: {program} is not there");
    Ok(())
}

fn is_there(program: &str) -> bool {
    folder().join(program).exists()
}

/// The folder of the sources.
pub fn folder() -> PathBuf {
    shell::root().join(FOLDER)
}
