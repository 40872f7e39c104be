//! Builds the programs among the workloads.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::shell;

/// Builds `benchmarks/workloads/<name>.c` in `folder`, optimized, without frame pointers.
///
/// # Errors
/// If the compiler is missing or refuses.
pub fn c(folder: &Path, name: &str) -> Result<PathBuf> {
    c_with(folder, name, &["-O2", "-pthread"])
}

/// Builds `benchmarks/workloads/<name>.c` in `folder` with `options`.
///
/// # Errors
/// If the compiler is missing or refuses.
pub fn c_with(folder: &Path, name: &str, options: &[&str]) -> Result<PathBuf> {
    let program = folder.join(name);
    let mut compiler = Command::new("gcc");
    compiler.args(options).arg(source(&format!("{name}.c"))).arg("-o").arg(&program);
    shell::run(compiler)?;
    Ok(program)
}

/// Builds `benchmarks/workloads/<name>.rs`, an example of xtask's.
///
/// # Errors
/// If cargo fails.
pub fn rust(name: &str) -> Result<PathBuf> {
    example("xtask", name)
}

/// Builds the example `name` of `package`.
///
/// # Errors
/// If cargo fails.
pub fn example(package: &str, name: &str) -> Result<PathBuf> {
    shell::cargo(&format!("build --release --package {package} --example {name}"))?;
    Ok(shell::target_folder()?.join("release/examples").join(name))
}

/// Builds the command with the agent inside, and says where it is.
///
/// # Errors
/// If cargo fails.
pub fn lifetrace() -> Result<PathBuf> {
    shell::cargo("build --release --package lifetrace-cli")?;
    Ok(shell::target_folder()?.join("release/lifetrace"))
}

/// Where the file `name` of the workloads is.
pub fn source(name: &str) -> PathBuf {
    shell::root().join("benchmarks/workloads").join(name)
}

/// The folder in which benchmarks build and run.
///
/// # Errors
/// If it cannot be made.
pub fn folder() -> Result<PathBuf> {
    let folder = shell::target_folder()?.join("bench");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
