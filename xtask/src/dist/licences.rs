//! The licences of other people's code, with their texts.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::inventory::Component;
use super::source::Source;

/// What may be in packages. Sources of what is under CDDL-1.0 or MPL-2.0 must be offered to whoever has the binary; the
/// page says where they are. CDLA-Permissive-2.0 is that of Mozilla's list of certificates.
const ALLOWED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CDDL-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// How names of files begin that are about licences.
const BEGINNINGS: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// A page for a package: who, under which licence, where the sources are, and then all texts.
///
/// # Errors
/// If somebody's licence is not allowed, or has no text.
pub fn page(source: &Source, what: &str, components: &[Component]) -> Result<String> {
    let mut page = format!(
        "# Code of other people's in {what} {}\n\nSources are in the places that are named here, and in the \
         registries of the languages that they are written in, in exactly these versions.\n\n\
         | | version | license | sources |\n|---|---|---|---|\n",
        source.version
    );
    let mut users: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for one in components {
        let Component { name, version, licence, source: place, .. } = one;
        ensure!(is_allowed(licence), "{name} {version}: the licence {licence} is not allowed");
        writeln!(page, "| {name} | {version} | {licence} | <{place}> |")?;
        for text in texts(source, one)? {
            users.entry(text).or_default().push(name);
        }
    }
    let mut texts: Vec<_> = users.into_iter().map(|(text, names)| (names, text)).collect();
    texts.sort();
    for (mut names, text) in texts {
        // Several versions of one.
        names.dedup();
        write!(page, "\n## {}\n\n```text\n{}\n```\n", names.join(", "), text.trim_end())?;
    }
    Ok(page)
}

/// Of alternatives one is enough. What has parentheses in it is no name of a licence, and refused.
fn is_allowed(expression: &str) -> bool {
    let all = |alternative: &str| alternative.split(" AND ").all(|one| ALLOWED.contains(&one));
    expression.split(" OR ").any(all)
}

/// Texts that somebody's code comes with; of what has none, the one that lies in `packaging/licences`.
fn texts(source: &Source, one: &Component) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    if let Some(folder) = &one.folder {
        collect(folder, 2, &mut texts)?;
    }
    if texts.is_empty() {
        let path = format!("packaging/licences/{}.txt", one.name);
        let text = source.text(&path);
        texts.push(text.with_context(|| format!("{} has no text of its licence", one.name))?);
    }
    texts.sort();
    texts.dedup();
    Ok(texts)
}

fn collect(folder: &Path, depth: u32, texts: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if entry.file_type()?.is_dir() {
            if depth > 0 {
                collect(&entry.path(), depth - 1, texts)?;
            }
        } else if BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) {
            let text = fs::read(entry.path())?;
            texts.push(String::from_utf8_lossy(&text).replace("\r\n", "\n").trim().to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_alternative_is_enough_and_all_of_its_parts_are_needed() {
        for (expression, expected) in [
            ("MIT", true),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0-only", false),
            ("Apache-2.0 AND ISC", true),
            ("Apache-2.0 AND GPL-2.0", false),
            ("Apache-2.0 WITH LLVM-exception OR GPL-2.0", true),
            ("(MIT OR GPL-2.0) AND GPL-3.0", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression), expected, "{expression}");
        }
    }
}
