//! Programs that check others: loom and Miri by running them in ways that no machine does,
//! cargo-semver-checks by what they promise.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::{shell, tools};

/// Cases of a property: Miri is some thousand times slower than the machine.
const MIRI_CASES: &str = "1";

/// Model checking of the ring and of the agent's phases, in every order that threads can come in.
///
/// # Errors
/// If an order breaks a promise; the message names the test.
pub fn loom() -> Result<()> {
    let mut command = shell::cargo_command(
        "test --release --package lifetrace-transport --package lifetrace-agent --test loom",
    );
    // A folder of its own, since the flag changes all that is built.
    let folder = shell::target_folder()?.join("loom");
    command.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", folder);
    shell::run(command)
}

/// Miri on `transport`: no access to memory outside its rules. It comes with nightly compilers only.
///
/// # Errors
/// If a test fails.
pub fn miri() -> Result<()> {
    let Some(toolchain) = ["stable", "nightly"].into_iter().find(|it| has_miri(it)) else {
        eprintln!("skipped: no miri in this toolchain: rustup +nightly component add miri");
        return Ok(());
    };
    let mut command = Command::new("rustup");
    command.args(["run", toolchain, "cargo", "miri", "test", "--package", "lifetrace-transport"]);
    command.arg("--target-dir").arg(shell::target_folder()?.join("miri"));
    // Where the tests lie is asked by what runs them.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", MIRI_CASES);
    shell::run(without_cargos_variables(command))
}

/// Whether the crate `lifetrace` breaks nothing that worked with it as it was at the commit `since`: until it is
/// published, there is nothing else to compare it with.
///
/// # Errors
/// If it does; what that is has been printed.
pub fn semver(since: &str) -> Result<()> {
    if !tools::exists("cargo-semver-checks") {
        eprintln!("skipped: cargo install --locked cargo-semver-checks");
        return Ok(());
    }
    shell::cargo(&format!(
        "semver-checks --package lifetrace --all-features --release-type minor --baseline-rev {since}"
    ))
}

fn has_miri(toolchain: &str) -> bool {
    let mut command = Command::new("rustup");
    command.args(["which", "--toolchain", toolchain, "cargo-miri"]);
    command.stderr(std::process::Stdio::null());
    let path = without_cargos_variables(command).output();
    path.is_ok_and(|it| it.status.success() && Path::new(text(&it.stdout).trim()).exists())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// Cargo tells its children which toolchain and which tools are its own.
fn without_cargos_variables(mut command: Command) -> Command {
    for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN", "RUSTFLAGS"] {
        command.env_remove(name);
    }
    command
}
