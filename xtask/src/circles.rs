//! No circles between the files of a crate.
//!
//! A file that leads to another by what it names cannot be understood, or moved, without that one. Files in a circle
//! are one file in several pieces. So a circle is refused, unless it is one of [`MEANT`].
//!
//! What a file names is its paths: those of `use`, and those in its code. A name that a module re-exports leads to the
//! file that has it. A module and those beneath it are one room, so what these name of it is not counted; nor is what
//! tests name. Methods and fields are reached without a path, and are not seen.

mod files;
mod graph;
mod meant;
mod named;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::arrows;
use graph::{Circle, Graph};
use meant::{MEANT, Meant};

/// Checks the whole workspace.
///
/// # Errors
/// With each circle that is not meant, its files and what they lead to; and with what is listed as meant and is no
/// circle.
pub fn check() -> Result<()> {
    let packages = arrows::packages()?;
    let mut graphs = packages.iter().flat_map(roots).map(graph);
    let circles = graphs.try_fold(Vec::new(), |mut all, graph| -> Result<_> {
        all.extend(graph?.circles());
        Ok(all)
    })?;
    let faults = faults_of(&circles, MEANT);
    ensure!(faults.is_empty(), "circles between files:\n{}", faults.join("\n"));
    eprintln!("circles: {}, all of which are meant", circles.len());
    Ok(())
}

/// The files at which the compiler begins, of the package's libraries and programs.
fn roots(package: &Value) -> impl Iterator<Item = &Path> {
    let targets = package["targets"].as_array().into_iter().flatten();
    let paths = targets.filter_map(|target| target["src_path"].as_str()).map(Path::new);
    paths.filter(|path| path.parent().is_some_and(|folder| folder.ends_with("src")))
}

fn graph(root: &Path) -> Result<Graph> {
    Ok(Graph::of(&files::modules(root)?))
}

/// A line or more for each circle that is not meant, and each meant one that is none.
fn faults_of(circles: &[Circle], meant: &[Meant]) -> Vec<String> {
    let is = |circle: &Circle, meant: &Meant| circle.files() == BTreeSet::from_iter(files(meant));
    let refused = circles.iter().filter(|circle| !meant.iter().any(|meant| is(circle, meant)));
    let stale = meant.iter().filter(|meant| !circles.iter().any(|circle| is(circle, meant)));
    let tell = |meant: &Meant| {
        let files: Vec<String> = files(meant).collect();
        format!("  no circle any more, so not to be listed as meant: {}", files.join(", "))
    };
    refused.map(Circle::to_string).chain(stale.map(tell)).collect()
}

/// As they are called from the workspace's folder.
fn files(meant: &Meant) -> impl Iterator<Item = String> {
    meant.files.iter().map(|file| format!("{}/src/{file}", meant.of))
}

#[cfg(test)]
mod tests;
