//! What a run leaves in its folder: files, and how much is in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::heaptrack;
use crate::shell;

/// What a run has left. What is not known of a variant is absent.
#[derive(Default)]
pub struct Left {
    /// The size of all files.
    pub bytes: Option<u64>,
    /// Allocations that were sampled.
    pub samples: Option<u64>,
    /// Everything that was recorded of a block.
    pub events: Option<u64>,
    /// Events that the recorder says it has lost.
    pub lost: Option<u64>,
    /// Words that OCaml's collector says it has promoted.
    pub promoted_words: Option<u64>,
}

/// The profile of an allocator, if it leaves one.
///
/// # Errors
/// If the folder cannot be read.
pub fn profile(folder: &Path) -> Result<Left> {
    Ok(Left { bytes: size(folder)?, ..Left::default() })
}

/// The output of heaptrack.
///
/// # Errors
/// If it cannot be read.
pub fn of_heaptrack(folder: &Path) -> Result<Left> {
    Ok(Left { events: Some(heaptrack::events(folder)?), ..profile(folder)? })
}

/// Whether all that was left are traces of ours, and there are some.
///
/// # Errors
/// If the folder cannot be read.
pub fn has_traces(folder: &Path) -> Result<bool> {
    let files = files(folder)?;
    Ok(!files.is_empty() && files.iter().all(|file| file.extension().is_some_and(|it| it == "lt")))
}

/// Traces, which `lifetrace` reads; it may have `said` something while it recorded.
///
/// # Errors
/// If they cannot be read.
pub fn traces(lifetrace: &Path, folder: &Path, said: &str) -> Result<Left> {
    let (mut samples, mut events) = (0, 0);
    for trace in files(folder)? {
        let facts = facts(lifetrace, &trace)?;
        let count = |name: &str| facts[name].as_u64().with_context(|| format!("no {name}"));
        samples += count("samples")?;
        events += count("samples")? + count("promotions")? + count("collections")?;
    }
    let counts = Left { samples: Some(samples), events: Some(events), ..profile(folder)? };
    Ok(Left { lost: Some(lost(said)), ..counts })
}

/// What the runtime of an OCaml program prints at its end, if it was told to (`OCAMLRUNPARAM=v=0x400`).
pub fn promoted_words(said: &str) -> Option<u64> {
    said.lines().find_map(|line| line.strip_prefix("promoted_words: "))?.parse().ok()
}

fn facts(lifetrace: &Path, trace: &Path) -> Result<Value> {
    let mut command = Command::new(lifetrace);
    command.args(["info", "--json"]).arg(trace);
    let mut facts: Value = serde_json::from_str(&shell::output(command)?)?;
    Ok(facts["trace"].take())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_file()).collect())
}

/// Of all files in `folder`; nothing if there are none.
fn size(folder: &Path) -> Result<Option<u64>> {
    let sizes = files(folder)?.into_iter().map(|file| Ok(fs::metadata(file)?.len()));
    let sizes = sizes.collect::<Result<Vec<u64>>>()?;
    Ok((!sizes.is_empty()).then(|| sizes.iter().sum()))
}

/// The sum of what the recorder's lines `lifetrace: FILE: lost N events: WHY` say.
fn lost(said: &str) -> u64 {
    let counts = said.lines().filter_map(|line| {
        let (_, rest) = line.strip_prefix("lifetrace:")?.split_once(": lost ")?;
        count(rest.split_once(" events")?.0)
    });
    counts.sum()
}

/// The recorder rounds large counts: `12,000`, `12.5 million`.
fn count(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_once(' ').unwrap_or((text, ""));
    let scale = match unit {
        "" => 1.0,
        "million" => 1e6,
        "billion" => 1e9,
        _ => return None,
    };
    Some((digits.replace(',', "").parse::<f64>().ok()? * scale).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_summed() {
        let said = "lifetrace: a.ctf: lost 12,000 events: ring full\nlost 5 events\n\
                    lifetrace: b.ctf: lost 1 events: no memory\n\
                    lifetrace: c.ctf: lost 12.5 million events: ring full\n\
                    lifetrace: d.ctf: writing ended there\n";
        assert_eq!(lost(said), 12_512_001);
    }

    #[test]
    fn promoted_words_are_found_among_what_was_said() {
        let said = "minor_words: 12\npromoted_words: 345\nlifetrace: x\n";
        assert_eq!(promoted_words(said), Some(345));
        assert_eq!(promoted_words("promoted_words: many"), None);
        assert_eq!(promoted_words(""), None);
    }

    #[test]
    fn an_empty_folder_has_no_size() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(size(folder.path()).unwrap(), None);
        fs::write(folder.path().join("a"), "12").unwrap();
        fs::write(folder.path().join("b"), "345").unwrap();
        assert_eq!(size(folder.path()).unwrap(), Some(5));
    }
}
