//! Packages for people who do not build: `cargo xtask dist` makes all of them, of one build of the command.
//!
//! ```text
//! source      what is built, and when and from which commit it says that it is
//! build       the command, static, and the gem's library; nothing in them says where they were built
//! inventory   whose code is in them           licences, bill   what is to be said of that
//! stage       folders that become packages    contents         what all packages have
//! tarball, deb, gem, opam                     the packages
//! check       packages in clean systems       root, image      those systems
//! ```

mod bill;
mod build;
mod check;
mod contents;
mod deb;
mod gem;
mod image;
mod inventory;
mod licences;
mod opam;
mod root;
mod source;
mod stage;
mod tarball;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};

use self::contents::Contents;
use self::source::Source;
use crate::shell;

/// Makes the packages; `--check` tries them in clean systems, `--twice` makes them in another folder, too, and compares.
///
/// # Errors
/// If one cannot be made, does not work, or differs.
pub fn run(words: &[&str]) -> Result<()> {
    let source = Source::here()?;
    make(&source)?;
    match words {
        [] => Ok(()),
        ["--check"] => check::run(&source),
        ["--twice"] => twice(&source),
        _ => bail!("dist takes --check or --twice"),
    }
}

fn make(source: &Source) -> Result<()> {
    let folder = source.packages();
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    opam::lint(source)?;
    let contents = Contents::of(source, build::command(source)?)?;
    tarball::make(source, &contents)?;
    deb::make(source, &contents)?;
    fs::write(folder.join(format!("lifetrace-{}.cdx.json", source.version)), &contents.bill)?;
    gem::make(source)?;
    write_sums(&folder)
}

/// As `sha256sum --check` reads them.
fn write_sums(folder: &Path) -> Result<()> {
    let text: String = sums(folder)?.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
    print!("{text}");
    Ok(fs::write(folder.join("SHA256SUMS"), text)?)
}

fn sums(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut sums = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let mut command = Command::new("sha256sum");
        command.arg(folder.join(&name));
        let sum = shell::output(command)?;
        sums.insert(name, sum.split(' ').next().unwrap_or_default().to_owned());
    }
    Ok(sums)
}

/// Makes all packages once more, of a copy of the sources in another folder.
fn twice(source: &Source) -> Result<()> {
    let copy = source.copied(&source.work().join("elsewhere"))?;
    make(&copy)?;
    let (here, there) = (sums(&source.packages())?, sums(&copy.packages())?);
    let different: Vec<_> = here.keys().filter(|&name| here.get(name) != there.get(name)).collect();
    ensure!(here.len() == there.len() && different.is_empty(), "not reproducible: {different:?}");
    println!("{} files are the same, byte for byte, built in another folder", here.len());
    Ok(fs::remove_dir_all(source.work().join("elsewhere"))?)
}
