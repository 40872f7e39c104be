//! Builds the preload library, which the command carries inside, with a profile and a target folder
//! of its own: it is a `no_std` library for other people's processes, whatever the command's own
//! profile is.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the library is made of.
const SOURCES: [&str; 8] =
    ["sampler", "transport", "agent", "native", "ocaml", "python", "ruby", "preload"];

fn main() {
    let crates = Path::new(&variable("CARGO_MANIFEST_DIR")).join("..");
    for source in SOURCES {
        println!("cargo:rerun-if-changed={}", crates.join(source).join("src").display());
        println!("cargo:rerun-if-changed={}", crates.join(source).join("Cargo.toml").display());
    }
    println!("cargo:rerun-if-changed={}", crates.join("preload").join("build.rs").display());
    // Its profile.
    println!("cargo:rerun-if-changed={}", crates.join("../Cargo.toml").display());
    println!("cargo:rerun-if-changed=build.rs");
    let library = build(&crates.join("preload").join("Cargo.toml"));
    println!("cargo:rustc-env=LIFETRACE_PRELOAD_LIBRARY={}", library.display());
    if let Some(commit) = commit(&crates.join("..")) {
        println!("cargo:rustc-env=LIFETRACE_COMMIT={commit}");
    }
}

/// The commit that is built, with its day: what packagers say, who may have no repository, or git.
fn commit(root: &Path) -> Option<String> {
    println!("cargo:rerun-if-env-changed=LIFETRACE_COMMIT");
    if let Ok(said) = env::var("LIFETRACE_COMMIT") {
        return Some(said);
    }
    // A log of commits, which grows with each.
    let log = root.join(".git/logs/HEAD");
    if !log.exists() {
        return None;
    }
    println!("cargo:rerun-if-changed={}", log.display());
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%h %cs", "--abbrev=9"]).current_dir(root);
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn build(manifest: &Path) -> PathBuf {
    let folder = PathBuf::from(variable("OUT_DIR")).join("preload");
    let target = programs_target();
    let status = Command::new(variable("CARGO"))
        .args(["build", "--profile", "preload", "--target", &target, "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&folder)
        // Clippy's wrapper would check the library instead of building it, and flags for the
        // command (coverage, sanitizers) are not for targets.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        // Entries at the start of a cache line, which the hop through malloc and free is faster for. No tables
        // of jumps: a sample would fetch each from memory.
        .env("RUSTFLAGS", "-Cllvm-args=-align-all-functions=6 -Cjump-tables=no")
        .status();
    match status {
        Ok(status) if status.success() => {
            folder.join(target).join("preload").join("liblifetrace_preload.so")
        }
        Ok(status) => panic!("building the preload library failed ({status})"),
        Err(error) => panic!("cannot run cargo to build the preload library: {error}"),
    }
}

/// Programs have glibc, even where the command has none.
fn programs_target() -> String {
    variable("TARGET").replace("-linux-musl", "-linux-gnu")
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}
