//! Whose code is in what is built: crates, and what comes with rustc or stands in the viewer's page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::build::{PROGRAMS, TARGET};
use super::source::Source;
use crate::shell;

/// What comes with rustc and is linked in; names of texts in `packaging/licences`, and licences.
const RUSTC: [(&str, &str, &str); 3] = [
    ("rust-std", "MIT OR Apache-2.0", "https://github.com/rust-lang/rust"),
    ("musl", "MIT", "https://git.musl-libc.org/cgit/musl"),
    (
        "llvm-libunwind",
        "Apache-2.0 WITH LLVM-exception",
        "https://github.com/llvm/llvm-project/tree/main/libunwind",
    ),
];

/// What is in the viewer's page, by its `package.json`.
const PAGE: [(&str, &str, &str); 2] = [
    ("preact", "MIT", "https://github.com/preactjs/preact"),
    ("uplot", "MIT", "https://github.com/leeoniya/uPlot"),
];

/// What is asked about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The command, with the library that it carries.
    Command,
    /// The gem's library.
    Gem,
}

/// Somebody's code.
pub struct Component {
    pub name: String,
    pub version: String,
    /// By the names of SPDX.
    pub licence: String,
    /// Where its sources are.
    pub source: String,
    /// Its name among all packages of the world.
    pub url: String,
    /// Of the file that it was fetched as.
    pub sha256: Option<String>,
    /// Where it is unpacked, if it is a crate.
    pub folder: Option<PathBuf>,
}

/// All of it, by name.
///
/// # Errors
/// If cargo does not say, or something is not known here.
pub fn of(source: &Source, whose: Whose) -> Result<Vec<Component>> {
    let trees: &[(&str, &str)] = match whose {
        Whose::Command => &[("lifetrace-cli", TARGET), ("lifetrace-preload", PROGRAMS)],
        Whose::Gem => &[("lifetrace-ruby-library", PROGRAMS)],
    };
    let mut linked = BTreeSet::new();
    for (package, target) in trees {
        linked.append(&mut tree(source, package, target)?);
    }
    let mut components = crates(source, &linked)?;
    let rustc = rustc_version()?;
    for known in RUSTC.iter().filter(|(name, ..)| whose == Whose::Command || *name == "rust-std") {
        components.push(other(known, &rustc, "generic"));
    }
    if whose == Whose::Command {
        components.append(&mut page(source)?);
    }
    components.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(components)
}

/// Names and versions of the crates of other people's that are linked in.
fn tree(source: &Source, package: &str, target: &str) -> Result<BTreeSet<(String, String)>> {
    let mut tree = shell::cargo_command(&format!(
        "tree --locked --edges normal,no-proc-macro --prefix none --format {{p}} --package {package} --target {target}"
    ));
    tree.current_dir(&source.root);
    let mut linked = BTreeSet::new();
    for line in shell::output(tree)?.lines().filter(|line| !line.contains("(/")) {
        let (name, rest) = line.split_once(" v").with_context(|| line.to_owned())?;
        let version = rest.split(' ').next().unwrap_or(rest);
        linked.insert((name.to_owned(), version.to_owned()));
    }
    Ok(linked)
}

fn crates(source: &Source, linked: &BTreeSet<(String, String)>) -> Result<Vec<Component>> {
    let sums = sums(&source.text("Cargo.lock")?);
    let mut metadata = shell::cargo_command("metadata --format-version 1 --locked");
    metadata.current_dir(&source.root).args(["--filter-platform", TARGET]);
    let metadata: Value = serde_json::from_str(&shell::output(metadata)?)?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let known: BTreeMap<_, _> = packages.iter().map(|it| (name_and_version(it), it)).collect();
    let component = |id: &(String, String)| {
        let package = known.get(id).with_context(|| format!("{} {} is unknown", id.0, id.1))?;
        let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
        Ok(Component {
            licence: text("license").replace(" / ", " OR ").replace('/', " OR "),
            source: text("repository"),
            url: format!("pkg:cargo/{}@{}", id.0, id.1),
            sha256: sums.get(id).cloned(),
            folder: PathBuf::from(text("manifest_path")).parent().map(Into::into),
            name: id.0.clone(),
            version: id.1.clone(),
        })
    };
    linked.iter().map(component).collect()
}

fn name_and_version(package: &Value) -> (String, String) {
    let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
    (text("name"), text("version"))
}

/// What `Cargo.lock` says that crates are.
fn sums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
        Some(line?.trim_end_matches('"').to_owned())
    };
    let one = |package| {
        let id = (field(package, "name")?, field(package, "version")?);
        Some((id, field(package, "checksum")?))
    };
    lock.split("[[package]]").filter_map(one).collect()
}

fn rustc_version() -> Result<String> {
    let mut rustc = Command::new("rustc");
    rustc.arg("--version");
    let version = shell::output(rustc)?;
    Ok(version.split(' ').nth(1).context("rustc has no version")?.to_owned())
}

fn page(source: &Source) -> Result<Vec<Component>> {
    let package: Value = serde_json::from_str(&source.text("viewer/package.json")?)?;
    let dependencies = package["dependencies"].as_object().context("dependencies of the viewer")?;
    let component = |(name, version): (&String, &Value)| {
        let known = PAGE.iter().find(|(known, ..)| known == name);
        let known = known.with_context(|| format!("{name} of the viewer has no licence here"))?;
        Ok(other(known, version.as_str().unwrap_or_default(), "npm"))
    };
    dependencies.iter().map(component).collect()
}

fn other((name, licence, source): &(&str, &str, &str), version: &str, kind: &str) -> Component {
    Component {
        name: (*name).to_owned(),
        version: version.to_owned(),
        licence: (*licence).to_owned(),
        source: (*source).to_owned(),
        url: format!("pkg:{kind}/{name}@{version}"),
        sha256: None,
        folder: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_has_sums_of_what_was_fetched() {
        let lock = "version = 4\n\n[[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n\n\
            [[package]]\nname = \"libm\"\nversion = \"0.2.16\"\nchecksum = \"ab\"\n";
        let id = ("libm".to_owned(), "0.2.16".to_owned());
        assert_eq!(sums(lock), BTreeMap::from([(id, "ab".to_owned())]));
    }
}
