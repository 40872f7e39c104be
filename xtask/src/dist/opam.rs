//! The package for opam, which is the repository itself: opam builds it where it is installed.

use std::process::Command;

use anyhow::Result;

use super::source::Source;
use crate::{shell, tools};

/// Has opam look at the package's description, where opam is.
///
/// # Errors
/// If it finds anything wrong.
pub fn lint(source: &Source) -> Result<()> {
    if !tools::exists("opam") {
        eprintln!("skipped: no opam to look at ocaml/lifetrace.opam");
        return Ok(());
    }
    let mut opam = Command::new("opam");
    opam.env("OPAMROOTISOK", "true").arg("lint");
    // Older ones take SPDX's expressions, here "MIT OR Apache-2.0", for no licence.
    opam.arg("--warnings=-62").arg(source.root.join("ocaml/lifetrace.opam"));
    shell::run(opam)
}
