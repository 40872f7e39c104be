//! What every package of the command has in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::inventory::{self, Whose};
use super::source::Source;
use super::{bill, licences};
use crate::shell;

pub struct Contents {
    /// The built command.
    pub command: PathBuf,
    /// Pages of the manual, by the names of their files.
    pub pages: Vec<(String, Vec<u8>)>,
    pub bash: String,
    pub zsh: String,
    pub fish: String,
    /// The library for programs, as the command puts it down.
    pub library: Vec<u8>,
    /// Whose code is in the command, with the licences' texts.
    pub third_party: String,
    /// A bill of materials, in CycloneDX's format.
    pub bill: String,
}

impl Contents {
    /// # Errors
    /// If the command does not say what it should, or somebody's code has no licence that may be in a package.
    pub fn of(source: &Source, command: PathBuf) -> Result<Contents> {
        let work = source.work().join("command");
        let _ = fs::remove_dir_all(&work);
        let components = inventory::of(source, Whose::Command)?;
        let completions = |shell| output(&command, &["completions", shell]);
        Ok(Contents {
            pages: pages(&command, &work.join("man"))?,
            bash: completions("bash")?,
            zsh: completions("zsh")?,
            fish: completions("fish")?,
            library: library(&command, &work.join("library"))?,
            third_party: licences::page(source, "lifetrace", &components)?,
            bill: bill::of(source, &components)?,
            command,
        })
    }
}

fn output(command: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(command);
    command.args(arguments);
    Ok(shell::output(command)? + "\n")
}

fn pages(command: &Path, folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut man = Command::new(command);
    man.args(["man", "-o"]).arg(folder);
    shell::run(man)?;
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        pages.push((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?));
    }
    pages.sort();
    Ok(pages)
}

fn library(command: &Path, folder: &Path) -> Result<Vec<u8>> {
    let mut library = Command::new(command);
    library.args(["library", "--install"]).arg(folder);
    Ok(fs::read(shell::output(library)?)?)
}
