//! Programs and libraries of `fixtures/targets`, compiled for a soak.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::shell;

/// The compiler must not know that `free(malloc(n))` is nothing.
const OPTIONS: &[&str] = &["-O1", "-g", "-w", "-pthread", "-fno-builtin"];

/// Where a source is.
pub fn source(name: &str) -> PathBuf {
    shell::root().join("fixtures/targets").join(name)
}

/// A program in C or C++, compiled into `folder` with `more` options, libraries or sources.
///
/// # Errors
/// If it cannot be compiled.
pub fn program(folder: &Path, name: &str, main: &str, more: &[&str]) -> Result<PathBuf> {
    let program = folder.join(name);
    let compiler = if main.ends_with(".cpp") { "g++" } else { "gcc" };
    let mut command = Command::new(compiler);
    command.args(OPTIONS).arg(source(main)).args(more).arg("-ldl").arg("-o").arg(&program);
    shell::run(command)?;
    Ok(program)
}

/// Compiles a shared library, `libNAME.so`.
///
/// # Errors
/// If it cannot be compiled.
pub fn library(folder: &Path, name: &str, main: &str, more: &[&str]) -> Result<PathBuf> {
    program(folder, &format!("lib{name}.so"), main, &[&["-shared", "-fPIC"], more].concat())
}
