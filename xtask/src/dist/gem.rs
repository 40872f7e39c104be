//! The gem, with its library: nothing is built where it is installed.

use std::fs;
use std::process::Command;

use anyhow::Result;

use super::inventory::{self, Whose};
use super::source::Source;
use super::stage::Stage;
use super::{build, licences};
use crate::{shell, tools};

/// Makes it, where there is a `gem` to make it with.
///
/// # Errors
/// If the library or the gem cannot be built.
pub fn make(source: &Source) -> Result<()> {
    if !tools::exists("gem") {
        eprintln!("skipped: no gem to build the gem with");
        return Ok(());
    }
    let stage = Stage::fresh(source.work().join("gem"))?;
    let library = build::gem_library(source)?;
    stage.put_program("lib/lifetrace/lifetrace.so", fs::read(library)?)?;
    fill(&stage, source)?;
    let mut gem = Command::new("gem");
    gem.current_dir(&stage.folder).env("SOURCE_DATE_EPOCH", &source.epoch);
    gem.args(["build", "--strict", "lifetrace.gemspec", "--output"]);
    gem.arg(source.packages().join(name(source)));
    shell::run(gem)
}

/// As `gem install` knows it.
pub fn name(source: &Source) -> String {
    format!("lifetrace-{}-x86_64-linux.gem", source.version)
}

fn fill(stage: &Stage, source: &Source) -> Result<()> {
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        stage.put(licence, source.text(licence)?)?;
    }
    let components = inventory::of(source, Whose::Gem)?;
    stage.put("THIRD-PARTY.md", licences::page(source, "the gem", &components)?)?;
    let mut find = Command::new("find");
    find.current_dir(source.root.join("ruby"));
    find.args(["README.md", "lifetrace.gemspec", "lib", "-type", "f", "-not", "-name", "*.so"]);
    for file in shell::output(find)?.lines() {
        stage.put(file, source.text(&format!("ruby/{file}"))?)?;
    }
    Ok(())
}
