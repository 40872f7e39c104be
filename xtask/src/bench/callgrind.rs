//! Counts of instructions, by valgrind's callgrind: the same whatever else the machine does.
//!
//! The agent is loaded into the program under valgrind as into any other, so its instructions are
//! counted too; the recorder runs outside, and is not.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::{left, need};
use crate::shell;

/// What counts, and where it leaves its files.
pub struct Callgrind {
    folder: PathBuf,
    lifetrace: PathBuf,
}

/// The instructions of one function, without those that it calls.
#[derive(Debug, PartialEq)]
pub struct Function<'a> {
    /// How many.
    pub count: u64,
    /// Its name, demangled.
    pub name: &'a str,
    /// The file of the program or library; empty if it is not known.
    pub object: &'a str,
}

impl Callgrind {
    /// Will count in `folder`.
    ///
    /// # Errors
    /// If valgrind is not installed.
    pub fn new(folder: &Path, lifetrace: PathBuf) -> Result<Callgrind> {
        if !need::is_met("counting", &[("valgrind", "valgrind")]) {
            bail!("valgrind is needed");
        }
        Ok(Callgrind { folder: folder.into(), lifetrace })
    }

    /// Will count in `folder`, and record nothing.
    ///
    /// # Errors
    /// If valgrind is not installed.
    pub fn alone(folder: &Path) -> Result<Callgrind> {
        Callgrind::new(folder, PathBuf::new())
    }

    /// Runs `command` with `environment`, recorded with these arguments of `lifetrace record` if
    /// there are any, and gives the number of instructions of its first process.
    ///
    /// # Errors
    /// If it fails, or prints no count.
    pub fn count(
        &self,
        recording: &[&str],
        environment: &[(&str, &str)],
        command: &[OsString],
    ) -> Result<u64> {
        let _ = fs::remove_dir_all(self.traces());
        fs::create_dir(self.traces())?;
        let words = self.words(recording, command);
        let output = Command::new(&words[0])
            .args(&words[1..])
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("{} cannot be run", words[0].display()))?;
        let text = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}:\n{text}", output.status);
        collected(&text).with_context(|| format!("no count of instructions in:\n{text}"))
    }

    /// What callgrind's own reader says of the functions of the last command; [`functions`]
    /// takes it apart.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn annotated(&self) -> Result<String> {
        let mut annotate = Command::new("callgrind_annotate");
        annotate.arg("--threshold=100").arg(self.output());
        shell::output(annotate)
    }

    /// The samples in all traces of the last recorded command.
    ///
    /// # Errors
    /// If a trace cannot be read.
    pub fn samples(&self) -> Result<u64> {
        left::traces(&self.lifetrace, &self.traces(), "")?.samples.context("no samples")
    }

    /// Valgrind is started by a shell, which leaves a trace too.
    fn traces(&self) -> PathBuf {
        self.folder.join("callgrind")
    }

    fn output(&self) -> PathBuf {
        self.folder.join("callgrind.out")
    }

    fn words(&self, recording: &[&str], command: &[OsString]) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if !recording.is_empty() {
            words.extend([self.lifetrace.clone().into(), "record".into(), "-q".into()]);
            words.extend(["-o".into(), self.traces().join("%e.%p.lt").into()]);
            words.extend(recording.iter().map(OsString::from));
            words.push("--".into());
        }
        let mut output = OsString::from("--callgrind-out-file=");
        output.push(self.output());
        words.extend(["valgrind".into(), "--tool=callgrind".into(), output]);
        words.extend(command.iter().cloned());
        words
    }
}

/// The functions in the lines `1,234 ( 0.01%)  file:function [object]` of an annotation.
pub fn functions(annotated: &str) -> impl Iterator<Item = Function<'_>> {
    annotated.lines().filter_map(function)
}

fn function(line: &str) -> Option<Function<'_>> {
    let (count, rest) = line.split_once(" (")?;
    let count = count.trim().replace(',', "").parse().ok()?;
    let (_, place) = rest.split_once("%)  ")?;
    let (place, object) = place
        .strip_suffix(']')
        .map_or((place, ""), |place| place.rsplit_once(" [").unwrap_or((place, "")));
    let (_, name) = place.split_once(':')?;
    Some(Function { count, name, object })
}

/// The number in valgrind's line `==123== Collected : 456`.
fn collected(text: &str) -> Option<u64> {
    let (_, number) = text.lines().find_map(|line| line.split_once("Collected : "))?;
    number.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found() {
        assert_eq!(collected("==1== Events    : Ir\n==1== Collected : 156\n"), Some(156));
        assert_eq!(collected("valgrind: no such program"), None);
    }

    #[test]
    fn functions_have_counts_names_and_objects() {
        let text = "1,234 (100.0%)  PROGRAM TOTALS\n\
                    1,200 (98.00%)  ???:a::b<c> [/usr/lib/x.so]\n\
                    \x20  34 ( 2.00%)  ./malloc/arena.c:free\n";
        let expected = [
            Function { count: 1200, name: "a::b<c>", object: "/usr/lib/x.so" },
            Function { count: 34, name: "free", object: "" },
        ];
        assert!(functions(text).eq(expected));
    }
}
