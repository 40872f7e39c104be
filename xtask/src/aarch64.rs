//! What depends on the processor, for aarch64: lints, and tests under emulation.
//!
//! Unit tests run whole in the emulator. In the end-to-end tests it runs the target alone, with an agent built
//! for it; the recorder is this machine's. An emulator shows neither weak ordering of memory nor a stale cache
//! of instructions, so this is no more than a beginning.

use std::path::Path;

use anyhow::Result;

use crate::archive::DEBIAN;
use crate::foreign::Packages;
use crate::{shell, tools};

const TARGET: &str = "aarch64-unknown-linux-gnu";
const COMPILER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64 -L /usr/aarch64-linux-gnu";

/// Its compiler of OCaml.
const OCAML: Packages<'_> = Packages {
    archive: DEBIAN,
    suite: "bookworm",
    architecture: "arm64",
    names: &["ocaml", "ocaml-base"],
};

/// The crates that run in targets.
const AGENTS: &str = "--package lifetrace-agent --package lifetrace-native --package lifetrace-ocaml --package lifetrace-python";

/// Everything, if the target's standard library is there or can be had.
///
/// # Errors
/// If something does not build, or a test fails.
pub fn check() -> Result<()> {
    tools::ensure()?;
    if !tools::has_target(TARGET)? {
        return Ok(());
    }
    cargo(
        "clippy --release --workspace --exclude lifetrace-preload --all-targets",
        "-- -D warnings",
    )?;
    cargo("clippy --profile preload --package lifetrace-preload", "-- -D warnings")?;
    cargo(&format!("test --release --lib {AGENTS}"), "")?;
    cargo("build --profile preload --package lifetrace-preload", "")?;
    let folder = shell::target_folder()?;
    let library = folder.join(TARGET).join("preload/liblifetrace_preload.so");
    match OCAML.unpacked(&folder.join("debian-arm64"), "end-to-end tests of aarch64")? {
        Some(ocaml) => end_to_end(&library, &ocaml),
        None => Ok(()),
    }
}

/// Cargo, for the other processor.
fn cargo(words: &str, more: &str) -> Result<()> {
    let mut command = shell::cargo_command(&format!("{words} --target {TARGET} {more}"));
    let variable = |name: &str| format!("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_{name}");
    command.env(variable("LINKER"), COMPILER).env(variable("RUNNER"), EMULATOR);
    command.env("CC_aarch64_unknown_linux_gnu", COMPILER);
    shell::run(command)
}

fn end_to_end(library: &Path, ocaml: &Path) -> Result<()> {
    let tests = "test --release --package lifetrace-cli --test end_to_end emulated -- --ignored";
    let mut command = shell::cargo_command(tests);
    command.env("LIFETRACE_AARCH64_LIBRARY", library).env("LIFETRACE_AARCH64_OCAML", ocaml);
    shell::run(command)
}
