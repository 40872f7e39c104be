//! No comment of an item leans on its neighbour's.
//!
//! An editor shows a comment alone, where the item is used, and so does the documentation. One that begins with a word
//! of [`LEANING`] says nothing there: it goes on from the comment above it in the file. The beginnings of sections
//! (`# Errors`, `# Safety`) are looked at as well.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Where Rust code is, from the workspace's folder on.
const FOLDERS: [&str; 3] = ["crates", "xtask", "fuzz"];

/// What cargo builds.
const BUILT: &str = "target";

/// With which no comment begins.
const LEANING: [&str; 9] =
    ["Likewise", "The same", "See the module", "As above", "Ditto", "Or", "And", "But", "Nor"];

/// Checks all comments of items.
///
/// # Errors
/// With each that leans on its neighbour, by file and line.
pub fn check() -> Result<()> {
    let mut faults = Vec::new();
    for folder in FOLDERS {
        add_faults(Path::new(folder), &mut faults)?;
    }
    ensure!(
        faults.is_empty(),
        "comments that an editor shows alone must stand alone:\n{}\nwrite what the item is or does, in what unit, or \
         what is returned; of a section, the condition itself",
        faults.join("\n")
    );
    eprintln!("words: every item's comment stands alone");
    Ok(())
}

/// A line for each fault of the folder's files, and of those beneath it.
fn add_faults(folder: &Path, faults: &mut Vec<String>) -> Result<()> {
    for path in entries(folder)? {
        if path.is_dir() && !path.ends_with(BUILT) {
            add_faults(&path, faults)?;
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
            let of_file = leaning(&text);
            faults.extend(of_file.map(|(line, word)| {
                format!("  {}:{line}: the comment begins with \"{word}\"", path.display())
            }));
        }
    }
    Ok(())
}

/// The folder's entries, in order.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let named = || format!("{}", folder.display());
    let entries = fs::read_dir(folder).with_context(named)?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let mut paths = paths.collect::<Result<Vec<_>>>().with_context(named)?;
    paths.sort();
    Ok(paths)
}

/// The lines at which a comment of an item, or a section of one, begins with such a word; from 1.
fn leaning(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let mut begins = true;
    (1..).zip(text.lines()).filter_map(move |(line, text)| {
        let Some(said) = comment(text) else {
            begins = true;
            return None;
        };
        let is_first = begins && !said.is_empty();
        begins = said.starts_with("# ") || (begins && said.is_empty());
        let word = LEANING.into_iter().find(|word| is_first && begins_with(said, word))?;
        Some((line, word))
    })
}

/// What the line says, if it is one of an item's comment.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
}

/// Whether these words are the first, as whole ones.
fn begins_with(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(usize, &str)]) {
        assert_eq!(leaning(text).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn beginnings_are_refused() {
        check(
            "//! The same for crates.\n\n/// A name.\nx\n/// Likewise.\ny",
            &[(1, "The same"), (5, "Likewise")],
        );
        check("struct A {\n    /// Or none.\n    b: u8,\n}", &[(2, "Or")]);
        check("///\n/// But for tests.", &[(2, "But")]);
        for word in LEANING {
            check(&format!("/// {word}, by others."), &[(1, word)]);
            check(&format!("/// {word}"), &[(1, word)]);
        }
    }

    #[test]
    fn sections_begin_too() {
        check("/// Frees.\n///\n/// # Safety\n/// As above.", &[(4, "As above")]);
        check("/// Frees.\n///\n/// # Errors\n///\n/// Likewise.", &[(5, "Likewise")]);
        check("/// Frees.\n///\n/// # Errors\n/// If it is none.\n/// Or cut.", &[]);
    }

    #[test]
    fn what_goes_on_may_lean() {
        check("/// A name.\n/// Or none.\n///\n/// But for these.", &[]);
        check("// Likewise.\n//// Likewise.\nlet x = \"/// Likewise\";", &[]);
        check("/// Orders.\n/// x\nstruct A;\n/// Android\nstruct B;\n/// In the same place.", &[]);
    }

    #[test]
    fn all_files_are_read_but_those_that_are_built() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("a/b/c.rs", "/// A name.\n"),
            ("a/b/d.rs", "\n/// Ditto.\n"),
            ("a/target/e.rs", "/// Ditto.\n"),
            ("a/f.md", "/// Ditto.\n"),
            ("g.rs", "/// Nor that.\n"),
        ] {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let mut faults = Vec::new();
        add_faults(folder.path(), &mut faults).unwrap();
        let [first, second] = &faults[..] else { panic!("{faults:?}") };
        assert!(first.ends_with("d.rs:2: the comment begins with \"Ditto\""), "{first}");
        assert!(second.ends_with("g.rs:1: the comment begins with \"Nor\""), "{second}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let fault = add_faults(Path::new("no-such-folder"), &mut Vec::new()).unwrap_err();
        assert_eq!(fault.to_string(), "no-such-folder");
    }
}
