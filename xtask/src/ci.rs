//! What CI runs.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{
    aarch64, arrows, bench, book, checkers, circles, dist, ocaml_versions, python_programs,
    python_versions, readers, ruby_versions, shell, tools, viewer, words,
};

/// The preload library has a profile of its own, in which the command's build script builds it.
const ALL_BUT_PRELOAD: &str = "--workspace --exclude lifetrace-preload";

/// Where there is no operating system: what builds for it needs no std. (So does the preload library
/// prove, with all that runs in targets: it has a panic handler, of which there can be but one.)
const BARE_TARGET: &str = "x86_64-unknown-none";

/// Everything, in the order in which faults are cheapest to find.
pub fn ci() -> Result<()> {
    tools::ensure()?;
    shell::cargo("fmt --all --check")?;
    arrows::check()?;
    circles::check()?;
    words::check()?;
    clippy()?;
    no_std()?;
    documentation()?;
    book::build()?;
    fuzzers()?;
    checkers::loom()?;
    test()?;
    linked_statically()?;
    aarch64::check()?;
    ocaml_versions::OCAML.test(&[ocaml_versions::ALWAYS])?;
    ruby_versions::RUBY.test(&[ruby_versions::ALWAYS])?;
    python_versions::PYTHON.test(&[python_versions::ALWAYS])?;
    python_programs::test()?;
    bench::arena::check()?;
    viewer::check()?;
    package()?;
    dist::run(&["--check"])?;
    readers::run_if_possible()
}

/// Formats all code.
pub fn fmt() -> Result<()> {
    shell::cargo("fmt --all")
}

/// All features; there is one, so these and none are all sets.
const ALL_FEATURES: &str = "--features lifetrace/tracing";

/// Lints all code; a warning is an error.
pub fn clippy() -> Result<()> {
    let all = format!("clippy --release {ALL_BUT_PRELOAD} --all-targets");
    shell::cargo(&format!("{all} {ALL_FEATURES} -- -D warnings"))?;
    shell::cargo("clippy --release --package lifetrace --all-targets -- -D warnings")?;
    shell::cargo("clippy --profile preload --package lifetrace-preload -- -D warnings")
}

/// Runs all tests, in release mode: they record whole programs.
pub fn test() -> Result<()> {
    tools::ensure()?;
    shell::cargo(&format!("test --release --no-fail-fast {}", shell::WORKSPACE))?;
    shell::cargo("test --release --package lifetrace --lib --test trackers --test external")
}

/// What takes builds of its own. The command has been built before.
fn linked_statically() -> Result<()> {
    let tests = "test --release --package lifetrace --test elsewhere -- --ignored";
    let mut command = shell::cargo_command(tests);
    command.env("LIFETRACE_COMMAND", shell::target_folder()?.join("release/lifetrace"));
    shell::run(command)
}

fn no_std() -> Result<()> {
    if !tools::has_target(BARE_TARGET)? {
        return Ok(());
    }
    shell::cargo(&format!(
        "check --package lifetrace-transport --package lifetrace-sampler --target {BARE_TARGET}"
    ))
}

/// The crates that can be published, built from what would be. Nothing is.
pub fn package() -> Result<()> {
    forget_unpacked()?;
    let target = shell::target_folder()?.join("publish");
    let _ = fs::remove_dir_all(&target);
    let mut command = shell::cargo_command("publish --dry-run --workspace --allow-dirty");
    command.arg("--target-dir").arg(target);
    shell::run(command)
}

/// Cargo builds each crate with the others as they would be published, from a registry that it makes for that. It
/// unpacks them beside those of other registries, and takes what lies there or was built from an earlier run for
/// what is to be published now: the version is the same.
fn forget_unpacked() -> Result<()> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let folder = home.context("there is no home directory")?.join("registry/src");
    // A registry without a host has a name that begins so.
    for registry in entries(&folder).filter(|entry| is_called(entry, "-")) {
        for unpacked in entries(&registry.path()).filter(|entry| is_called(entry, "lifetrace")) {
            fs::remove_dir_all(unpacked.path())?;
        }
    }
    Ok(())
}

/// None, if there is no such folder.
fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

fn is_called(entry: &DirEntry, beginning: &str) -> bool {
    entry.file_name().to_string_lossy().starts_with(beginning)
}

/// They are a workspace of their own, and must not be left behind.
fn fuzzers() -> Result<()> {
    shell::cargo("check --release --bins --examples --manifest-path fuzz/Cargo.toml")
}

/// With private items, since the comments that explain a design speak of them. The command has the name of
/// the crate that is a library, whose documentation is to be what is left.
fn documentation() -> Result<()> {
    document("--package lifetrace-cli")?;
    document(&format!("{ALL_BUT_PRELOAD} --exclude lifetrace-cli {ALL_FEATURES}"))
}

fn document(packages: &str) -> Result<()> {
    let what = format!("doc --release --no-deps --document-private-items {packages}");
    let mut command = shell::cargo_command(&what);
    command.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links");
    shell::run(command)
}
