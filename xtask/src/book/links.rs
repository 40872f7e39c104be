//! Each link of each page leads somewhere, and each page of the book is in its table of contents.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{markdown, pages};

/// What the table of contents is called.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Checks all pages of the repository.
///
/// # Errors
/// With a line for each link that leads nowhere, and each page that nobody would find.
pub fn check() -> Result<()> {
    let files: Vec<PathBuf> =
        pages::files(".")?.into_iter().filter(|it| pages::is_page(it)).collect();
    let mut faults = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        faults.extend(faults_of(file, &text)?);
    }
    faults.extend(missing_from_contents()?);
    ensure!(faults.is_empty(), "links that lead nowhere:\n  {}", faults.join("\n  "));
    eprintln!("links: {} pages, all of whose links lead somewhere", files.len());
    Ok(())
}

fn faults_of(page: &Path, text: &str) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for link in markdown::links(text) {
        let line = text[..link.place.start].lines().count();
        if let Some(fault) = fault(page, text, &link.target)? {
            faults.push(format!("{}:{line}: {}: {fault}", page.display(), link.target));
        }
    }
    Ok(faults)
}

fn fault(page: &Path, text: &str, target: &str) -> Result<Option<&'static str>> {
    let (path, anchor) =
        target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let file = match pages::file_of(path, page) {
        None if path.is_empty() => page.to_owned(),
        None => return Ok(None),
        // Made when the book is.
        Some(file) if file.starts_with("docs/built.md") || file.starts_with("docs/changes.md") => {
            return Ok(None);
        }
        Some(file) => file,
    };
    if !file.exists() {
        return Ok(Some("there is no such file"));
    }
    let Some(anchor) = anchor.filter(|_| pages::is_page(&file)) else { return Ok(None) };
    let there = if file == page { text.to_owned() } else { fs::read_to_string(&file)? };
    let is_there = markdown::anchors(&there).iter().any(|it| it == anchor);
    Ok((!is_there).then_some("there is no such heading"))
}

fn missing_from_contents() -> Result<Vec<String>> {
    let contents = fs::read_to_string(CONTENTS)?;
    let listed: BTreeSet<PathBuf> = markdown::links(&contents)
        .iter()
        .filter_map(|link| pages::file_of(&link.target, Path::new(CONTENTS)))
        .collect();
    let is_missing = |file: &PathBuf| {
        file != Path::new(CONTENTS) && pages::is_page(file) && !listed.contains(file)
    };
    let missing = pages::files(pages::FOLDER)?.into_iter().filter(is_missing);
    Ok(missing.map(|file| format!("{CONTENTS} has no link to {}", file.display())).collect())
}
