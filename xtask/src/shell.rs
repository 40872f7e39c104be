//! Running other programs, and saying so.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// What tests are built with, all at once.
pub const WORKSPACE: &str = "--workspace --exclude lifetrace-preload --features lifetrace/tracing";

/// What takes longer is worth a line.
const A_WHILE: Duration = Duration::from_secs(10);

/// The folder of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Where cargo puts what it builds.
///
/// # Errors
/// If cargo does not say.
pub fn target_folder() -> Result<PathBuf> {
    let text = output(cargo_command("metadata --format-version 1 --no-deps --offline"))?;
    let metadata: serde_json::Value = serde_json::from_str(&text)?;
    Ok(metadata["target_directory"]
        .as_str()
        .context("cargo metadata has no target_directory")?
        .into())
}

/// Runs cargo with `arguments`, separated by blanks.
///
/// # Errors
/// If cargo ends with anything but success.
pub fn cargo(arguments: &str) -> Result<()> {
    run(cargo_command(arguments))
}

/// Cargo with `arguments`, separated by blanks, not yet running.
pub fn cargo_command(arguments: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.args(arguments.split_whitespace());
    // What the cargo that has started us says of xtask: a build script that asks for it would run again.
    let is_of_xtask =
        |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_xtask) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command after it has printed it, and then prints how long it took if that was a while.
///
/// # Errors
/// If it cannot be started or ends with anything but success.
pub fn run(mut command: Command) -> Result<()> {
    let started = Instant::now();
    eprintln!("+ {}", spelled(&command));
    let status = command.stdin(Stdio::null()).status().with_context(|| spelled(&command))?;
    if started.elapsed() >= A_WHILE {
        eprintln!("took {} s: {}", started.elapsed().as_secs(), spelled(&command));
    }
    ensure!(status.success(), "{}: {status}", spelled(&command));
    Ok(())
}

/// What a command prints on standard output, without blanks around it.
///
/// # Errors
/// If it cannot be started, ends with anything but success, or prints what is not UTF-8.
pub fn output(mut command: Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| spelled(&command))?;
    ensure!(output.status.success(), "{}: {}", spelled(&command), output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn spelled(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
