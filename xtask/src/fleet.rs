//! The dataset's command, a workspace of its own: its tests, and other engines that read what it writes.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{readers, shell, tools};

/// Where its workspace is.
pub const MANIFEST: &str = "--manifest-path crates/fleet/Cargo.toml";

/// Engines that read Parquet, and a server that keeps files as S3 does.
const ENGINES: [&str; 4] = ["duckdb", "pyarrow", "pytz", "moto[server]"];

/// Formats, lints and tests it. It takes a query engine to be built: so it is no part of what CI runs.
///
/// # Errors
/// If something is wrong.
pub fn check() -> Result<()> {
    tools::ensure()?;
    shell::cargo(&format!("fmt --check {MANIFEST}"))?;
    shell::cargo(&format!("clippy --release {MANIFEST} --all-targets -- -D warnings"))?;
    shell::cargo(&format!("test --release {MANIFEST}"))?;
    if !readers::has_pip() {
        eprintln!("skipped: other engines, which need python3 with pip");
        return Ok(());
    }
    others()
}

/// The command, where a release build leaves it.
pub fn command() -> PathBuf {
    shell::root().join("crates/fleet/target/release/lifetrace-fleet")
}

fn others() -> Result<()> {
    let engines = shell::target_folder()?.join("fleet-engines");
    if !engines.exists() {
        // One that is cut short leaves nothing that looks whole.
        let begun = engines.with_extension("begun");
        let mut install = Command::new("python3");
        install.args(["-m", "pip", "install", "-q", "--disable-pip-version-check"]);
        install.args(["--root-user-action=ignore", "--target"]).arg(&begun).args(ENGINES);
        shell::run(install)?;
        std::fs::rename(begun, &engines)?;
    }
    let mut python = Command::new("python3");
    python.arg("crates/fleet/tests/other_engines.py").arg(command()).env("PYTHONPATH", engines);
    shell::run(python)
}
