//! What is compiled for packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::source::Source;
use crate::{shell, tools};

/// With musl the command is one static file, and looks up names of hosts by itself: it runs on any Linux.
pub const TARGET: &str = "x86_64-unknown-linux-musl";

/// What is loaded into programs has their C library.
pub const PROGRAMS: &str = "x86_64-unknown-linux-gnu";

/// The command.
///
/// # Errors
/// If it cannot be built.
pub fn command(source: &Source) -> Result<PathBuf> {
    ensure!(tools::has_target(TARGET)?, "packages have a static command in them");
    cargo(source, &format!("--package lifetrace-cli --bin lifetrace --target {TARGET}"))?;
    Ok(source.target.join(TARGET).join("library/lifetrace"))
}

/// The library in the gem.
///
/// # Errors
/// If it cannot be built.
pub fn gem_library(source: &Source) -> Result<PathBuf> {
    cargo(source, &format!("--package lifetrace-ruby-library --target {PROGRAMS}"))?;
    Ok(source.target.join(PROGRAMS).join("library/liblifetrace_gem.so"))
}

fn cargo(source: &Source, what: &str) -> Result<()> {
    let mut build = shell::cargo_command(&format!("build --locked --profile library {what}"));
    build.current_dir(&source.root).arg("--target-dir").arg(&source.target);
    build.env("CARGO_ENCODED_RUSTFLAGS", flags(source)?.join("\x1f"));
    build.env("SOURCE_DATE_EPOCH", &source.epoch).env("LIFETRACE_COMMIT", &source.commit);
    shell::run(build)
}

/// Other names for the folders of this machine. Of two that hold a file, the last counts.
fn flags(source: &Source) -> Result<Vec<String>> {
    let mut fetch = shell::cargo_command("fetch --locked");
    fetch.current_dir(&source.root);
    shell::run(fetch)?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let home = home.context("there is no home directory")?;
    let (library, commit) = standard_library()?;
    let mut names = vec![
        (source.root.clone(), "/lifetrace".to_owned()),
        (source.target.clone(), "/target".to_owned()),
        (home.clone(), "/cargo".to_owned()),
        (library, format!("/rustc/{commit}/library")),
    ];
    for registry in registries(&home)? {
        names.push((registry, "/crates".to_owned()));
    }
    let flag = |(folder, name): &(PathBuf, String)| {
        format!("--remap-path-prefix={}={name}", folder.display())
    };
    Ok(names.iter().map(flag).collect())
}

/// Folders of unpacked crates, by whose names one could tell where they were fetched from. One that cargo makes for
/// itself, to try what would be published, has none of a host.
fn registries(home: &Path) -> Result<Vec<PathBuf>> {
    let mut registries = Vec::new();
    for entry in fs::read_dir(home.join("registry/src"))? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with('-') {
            registries.push(entry.path());
        }
    }
    registries.sort();
    Ok(registries)
}

/// Where rustc has the sources of the standard library, if it has them, and which they are.
fn standard_library() -> Result<(PathBuf, String)> {
    let rustc = |arguments: &[&str]| {
        let mut command = Command::new("rustc");
        command.args(arguments);
        shell::output(command)
    };
    let root = PathBuf::from(rustc(&["--print", "sysroot"])?);
    let version = rustc(&["-vV"])?;
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
    let commit = commit.context("rustc has no commit-hash")?.to_owned();
    Ok((root.join("lib/rustlib/src/rust/library"), commit))
}
