//! The book: pages of `docs/`, with ARCHITECTURE.md and CHANGELOG.md, made into HTML by mdBook.
//!
//! Pages are also read in the repository, where a link may lead to any file of it. In the book there is nothing but pages,
//! so mdBook gets copies in which such links lead to the repository's address. Before that all links of all pages are
//! [checked](links): those to files, and those to headings.

mod links;
mod markdown;
mod pages;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::shell;

/// The version that `docs/book.toml` is written for.
const MDBOOK: &str = "0.5.4";

/// Checks all links, and makes the book in the target folder.
///
/// # Errors
/// If a link leads nowhere, a page is not in the table of contents, or mdBook finds a fault.
pub fn build() -> Result<()> {
    links::check()?;
    let target = shell::target_folder()?;
    let (source, output) = (target.join("book-source"), target.join("book"));
    stage(&source)?;
    let mut mdbook = Command::new(mdbook(&target)?);
    mdbook.arg("build").arg(&source).arg("--dest-dir").arg(&output);
    shell::run(mdbook)?;
    eprintln!("book: {}", output.join("index.html").display());
    Ok(())
}

/// Copies of all that the book is made of.
fn stage(source: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(source);
    let repository = repository()?;
    for page in pages::all()? {
        let text = fs::read_to_string(&page.file)?;
        write(&source.join(&page.in_book), pages::rewritten(&text, &page, &repository).as_bytes())?;
    }
    for file in pages::others()? {
        write(&source.join(file.strip_prefix(pages::FOLDER)?), &fs::read(&file)?)?;
    }
    Ok(())
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file has a folder")?)?;
    fs::write(path, content).with_context(|| path.display().to_string())
}

/// The address of the repository, as the command's manifest has it.
fn repository() -> Result<String> {
    let text =
        shell::output(shell::cargo_command("metadata --format-version 1 --no-deps --offline"))?;
    let metadata: serde_json::Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let address = packages.iter().find_map(|package| package["repository"].as_str());
    Ok(address.context("no package has a repository")?.to_owned())
}

/// The program, in the target folder; it is built if it is not there.
fn mdbook(target: &Path) -> Result<PathBuf> {
    let root = target.join("tools");
    let program = root.join("bin/mdbook");
    let mut version = Command::new(&program);
    version.arg("--version");
    if program.exists() && shell::output(version)?.ends_with(MDBOOK) {
        return Ok(program);
    }
    let words = format!(
        "install mdbook --version {MDBOOK} --locked --no-default-features --features search"
    );
    let mut install = shell::cargo_command(&words);
    install.arg("--root").arg(&root).arg("--target-dir").arg(root.join("build"));
    shell::run(install)?;
    ensure!(program.exists(), "{} is not there", program.display());
    Ok(program)
}
