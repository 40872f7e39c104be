//! Who may depend on whom: the arrows of ARCHITECTURE.md, checked against the manifests.
//!
//! A crate may depend on those that its arrows lead to, directly or through others. What matters is
//! what is *absent*: `transport` and `trace` know nothing of each other, nothing that runs in a
//! target knows a file format, and the analysis knows nothing of recording.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell;

/// From each crate to those right beneath it.
const ARROWS: &[(&str, &[&str])] = &[
    ("lifetrace-sampler", &[]),
    ("lifetrace-transport", &[]),
    ("lifetrace-agent", &["lifetrace-sampler", "lifetrace-transport"]),
    ("lifetrace-native", &["lifetrace-agent"]),
    ("lifetrace-ocaml", &["lifetrace-agent"]),
    ("lifetrace-python", &["lifetrace-native"]),
    ("lifetrace-ruby", &["lifetrace-agent"]),
    ("lifetrace-preload", &["lifetrace-ocaml", "lifetrace-python", "lifetrace-ruby"]),
    ("lifetrace-trace", &[]),
    ("lifetrace-debuginfod", &[]),
    ("lifetrace-recorder", &["lifetrace-transport", "lifetrace-trace", "lifetrace-debuginfod"]),
    ("lifetrace-inside", &["lifetrace-native", "lifetrace-recorder"]),
    ("lifetrace-ocaml-library", &["lifetrace-ocaml", "lifetrace-inside"]),
    ("lifetrace-ruby-library", &["lifetrace-ruby", "lifetrace-inside", "lifetrace-pprof"]),
    ("lifetrace", &["lifetrace-inside", "lifetrace-pprof"]),
    ("lifetrace-analysis", &["lifetrace-trace"]),
    ("lifetrace-pprof", &["lifetrace-recorder"]),
    ("lifetrace-human", &["lifetrace-analysis"]),
    ("lifetrace-import", &["lifetrace-analysis"]),
    ("lifetrace-study", &["lifetrace-human", "lifetrace-import"]),
    ("lifetrace-report", &["lifetrace-study"]),
    ("lifetrace-live", &["lifetrace-report"]),
    ("lifetrace-export", &["lifetrace-report", "lifetrace-pprof"]),
    ("lifetrace-snapshot", &["lifetrace-trace"]),
    ("lifetrace-cmt", &[]),
    ("lifetrace-heap", &["lifetrace-snapshot", "lifetrace-report", "lifetrace-cmt"]),
    ("lifetrace-viewer", &["lifetrace-heap"]),
    ("lifetrace-serve", &["lifetrace-pprof", "lifetrace-live", "lifetrace-viewer"]),
    ("lifetrace-cli", &["lifetrace-export", "lifetrace-serve"]),
    ("xtask", &["lifetrace-trace"]),
];

/// Checks the whole workspace.
///
/// # Errors
/// With a line for each dependency that no arrow allows, and each crate that has no arrows here.
pub fn check() -> Result<()> {
    let packages = packages()?;
    let faults: Vec<String> = packages.iter().flat_map(faults_of).collect();
    ensure!(faults.is_empty(), "dependencies against the arrows:\n  {}", faults.join("\n  "));
    eprintln!("arrows: {} crates, none depends on what it may not", packages.len());
    Ok(())
}

/// The workspace's, as cargo describes them.
///
/// # Errors
/// If cargo does not.
pub fn packages() -> Result<Vec<Value>> {
    let text =
        shell::output(shell::cargo_command("metadata --format-version 1 --no-deps --offline"))?;
    let mut metadata: Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"].as_array_mut().context("cargo metadata has no packages")?;
    Ok(std::mem::take(packages))
}

fn faults_of(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some(allowed) = reachable(name) else {
        return vec![format!(
            "{name} has no arrows: draw them in ARCHITECTURE.md and xtask/src/arrows.rs"
        )];
    };
    ours(package)
        .filter(|dependency| !allowed.contains(dependency))
        .map(|dependency| format!("{name} -> {dependency}"))
        .collect()
}

/// The crates of this workspace that `package` depends on, for its product, build or tests.
fn ours(package: &Value) -> impl Iterator<Item = &str> {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    dependencies.filter_map(|one| one["name"].as_str()).filter(|name| below(name).is_some())
}

fn below(name: &str) -> Option<&'static [&'static str]> {
    ARROWS.iter().find(|(from, _)| *from == name).map(|&(_, to)| to)
}

fn reachable(name: &str) -> Option<BTreeSet<&'static str>> {
    let mut found = BTreeSet::new();
    let mut open = below(name)?.to_vec();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(below(next)?);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, dependency: &str, expect: usize) {
        let package = serde_json::json!({"name": name, "dependencies": [{"name": dependency}]});
        assert_eq!(faults_of(&package).len(), expect, "{name} -> {dependency}");
    }

    #[test]
    fn dependencies_follow_the_arrows() {
        check("lifetrace-cli", "lifetrace-trace", 0);
        check("lifetrace-preload", "lifetrace-transport", 0);
        check("lifetrace-trace", "libc", 0);
        check("lifetrace-trace", "lifetrace-transport", 1);
        check("lifetrace-native", "lifetrace-trace", 1);
        check("lifetrace-analysis", "lifetrace-recorder", 1);
        check("lifetrace-report", "lifetrace-recorder", 1);
        check("lifetrace-study", "lifetrace-report", 1);
        check("lifetrace-unknown", "libc", 1);
    }
}
