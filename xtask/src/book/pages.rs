//! Which pages there are, and what their links are in the book.

use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::markdown;
use crate::shell;

/// Where the book's own pages are.
pub const FOLDER: &str = "docs";

/// Pages from elsewhere, by what they are called in the book.
const FROM_ELSEWHERE: [(&str, &str); 2] =
    [("ARCHITECTURE.md", "built.md"), ("CHANGELOG.md", "changes.md")];

/// A page, by its file's path from the root of the repository, and from the root of the book.
pub struct Page {
    pub file: PathBuf,
    pub in_book: PathBuf,
}

/// All pages that the book has.
///
/// # Errors
/// If git does not say which files there are.
pub fn all() -> Result<Vec<Page>> {
    let own = files(FOLDER)?.into_iter().filter(|file| is_page(file)).map(|file| {
        let in_book = file.strip_prefix(FOLDER).unwrap_or(&file).to_owned();
        Page { file, in_book }
    });
    let others =
        FROM_ELSEWHERE.iter().map(|(file, page)| Page { file: file.into(), in_book: page.into() });
    Ok(own.chain(others).collect())
}

/// Pictures, and what mdBook is told.
///
/// # Errors
/// If git does not say which files there are.
pub fn others() -> Result<Vec<PathBuf>> {
    Ok(files(FOLDER)?.into_iter().filter(|file| !is_page(file)).collect())
}

/// Files that are in the repository, or are to be.
///
/// # Errors
/// If git does not say.
pub fn files(folder: &str) -> Result<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard", folder]);
    let mut files: Vec<PathBuf> = shell::output(git)?.lines().map(PathBuf::from).collect();
    files.retain(|file| file.exists());
    Ok(files)
}

pub fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "md")
}

/// A page with the links that it has in the book.
pub fn rewritten(text: &str, page: &Page, repository: &str) -> String {
    let mut rewritten = text.to_owned();
    for link in markdown::links(text).into_iter().rev() {
        let Some(target) = in_book(&link.target, page, repository) else { continue };
        let written = &text[link.place.clone()];
        if let Some(at) = written.rfind(&link.target) {
            let start = link.place.start + at;
            rewritten.replace_range(start..start + link.target.len(), &target);
        }
    }
    rewritten
}

/// Where a link leads in the book; `None` if that is where it leads already.
fn in_book(target: &str, page: &Page, repository: &str) -> Option<String> {
    let (path, anchor) =
        target.split_once('#').map_or((target, ""), |(path, anchor)| (path, anchor));
    let file = file_of(path, &page.file)?;
    let anchor = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
    let up: String = page.in_book.ancestors().skip(2).map(|_| "../").collect();
    if let Some((_, name)) = FROM_ELSEWHERE.iter().find(|(other, _)| file == Path::new(other)) {
        return Some(format!("{up}{name}{anchor}"));
    }
    match file.strip_prefix(FOLDER) {
        Ok(inside) => Some(format!("{up}{}{anchor}", inside.display())),
        // Of a folder this leads on to its list of files.
        Err(_) => Some(format!("{repository}/blob/main/{}{anchor}", file.display())),
    }
}

/// The file that a link of the page `from` leads to, by its path from the root; `None` of a link to elsewhere, or within
/// the page.
pub fn file_of(path: &str, from: &Path) -> Option<PathBuf> {
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return None;
    }
    let mut file = PathBuf::new();
    for part in from.parent().unwrap_or(from).join(path).components() {
        match part {
            Component::ParentDir => _ = file.pop(),
            Component::CurDir => {}
            part => file.push(part),
        }
    }
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_repository_where_the_book_ends() {
        let page = |file: &str, in_book: &str| Page { file: file.into(), in_book: in_book.into() };
        let check = |page: &Page, text, expected| assert_eq!(rewritten(text, page, "R"), expected);
        let outer = page("docs/a.md", "a.md");
        check(
            &outer,
            "[a](b.md#c) [b](#d) [c](https://e/f)",
            "[a](b.md#c) [b](#d) [c](https://e/f)",
        );
        check(
            &outer,
            "[a](../Cargo.toml) ![b](images/c.png)",
            "[a](R/blob/main/Cargo.toml) ![b](images/c.png)",
        );
        check(&outer, "[docs/b.md](../ARCHITECTURE.md#x)", "[docs/b.md](built.md#x)");
        let inner = page("docs/howto/a.md", "howto/a.md");
        check(&inner, "[a](../b.md) [b](c.md)", "[a](../b.md) [b](../howto/c.md)");
        let elsewhere = page("ARCHITECTURE.md", "built.md");
        check(
            &elsewhere,
            "[docs/b.md](docs/b.md#c) [a](xtask)",
            "[docs/b.md](b.md#c) [a](R/blob/main/xtask)",
        );
    }
}
