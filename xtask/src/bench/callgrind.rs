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
    has_caches: bool,
}

/// What has happened, in a program or a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Events {
    /// Instructions.
    pub instructions: u64,
    /// Instructions and data that the first cache did not have.
    pub first: [u64; 2],
    /// Likewise, that the second one did not have either.
    pub second: [u64; 2],
}

/// A core's own caches, of usual sizes: 32 KiB each for instructions and data, and 1 MiB for both.
const CACHES: &[&str] =
    &["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,8,64"];

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
        Ok(Callgrind { folder: folder.into(), lifetrace, has_caches: false })
    }

    /// Will count what caches do not have, too.
    pub fn with_caches(self) -> Callgrind {
        Callgrind { has_caches: true, ..self }
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
        Ok(self.events(recording, environment, command)?.instructions)
    }

    /// Likewise, with what caches did not have, if they are [there](Callgrind::with_caches).
    ///
    /// # Errors
    /// Likewise.
    pub fn events(
        &self,
        recording: &[&str],
        environment: &[(&str, &str)],
        command: &[OsString],
    ) -> Result<Events> {
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
        words.extend(CACHES.iter().filter(|_| self.has_caches).map(OsString::from));
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

/// What happened in the functions of one object, of an annotation with caches.
pub fn events_of(annotated: &str, object: &str) -> Events {
    let end = format!("{object}]");
    let lines = annotated.lines().filter(|line| line.ends_with(&end));
    lines.filter_map(columns).fold(Events::default(), Events::plus)
}

/// Of the line `1,234 ( 0.01%)  56 ( 0.02%)  .  ... file:function [object]`.
fn columns(line: &str) -> Option<Events> {
    let mut numbers = Vec::new();
    let mut rest = line.trim_start();
    while numbers.len() < COLUMNS {
        let (word, more) = rest.split_once(' ')?;
        let count = if word == "." { 0 } else { word.replace(',', "").parse().ok()? };
        numbers.push(count);
        rest = more.trim_start();
        if rest.starts_with('(') {
            rest = rest.split_once(')')?.1.trim_start();
        }
    }
    Events::of(&numbers)
}

/// As many as there are with caches: instructions, reads, writes, and of each of the three how many the first
/// cache did not have, and the second.
const COLUMNS: usize = 9;

impl Events {
    fn of(numbers: &[u64]) -> Option<Events> {
        let &instructions = numbers.first()?;
        let [.., i1, r1, w1, i2, r2, w2] = *numbers else {
            return Some(Events { instructions, ..Events::default() });
        };
        Some(Events { instructions, first: [i1, r1 + w1], second: [i2, r2 + w2] })
    }

    fn plus(self, other: Events) -> Events {
        let sum = |one: [u64; 2], other: [u64; 2]| [one[0] + other[0], one[1] + other[1]];
        Events {
            instructions: self.instructions + other.instructions,
            first: sum(self.first, other.first),
            second: sum(self.second, other.second),
        }
    }
}

/// The numbers in valgrind's line `==123== Collected : 456 78`.
fn collected(text: &str) -> Option<Events> {
    let (_, numbers) = text.lines().find_map(|line| line.split_once("Collected : "))?;
    let numbers: Result<Vec<u64>, _> = numbers.split_whitespace().map(str::parse).collect();
    Events::of(&numbers.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found() {
        let only = Events { instructions: 156, ..Events::default() };
        assert_eq!(collected("==1== Events    : Ir\n==1== Collected : 156\n"), Some(only));
        let all = Events { instructions: 9, first: [4, 5], second: [1, 1] };
        assert_eq!(collected("==1== Collected : 9 8 7 4 3 2 1 1 0"), Some(all));
        assert_eq!(collected("valgrind: no such program"), None);
    }

    #[test]
    fn events_of_an_object_are_added_up() {
        let text = "1,000 (50.00%)  9 ( 1.00%)  .  20 ( 2.00%)  2 ( 0.20%)  1 ( 0.10%)  3 ( 0.30%)  .  .  ???:a (x) [/y/z.so]\n\
                    5 ( 0.10%)  .  .  .  .  .  1 ( 0.10%)  1 ( 0.10%)  2 ( 0.20%)  ???:b [/y/z.so]\n\
                    7 ( 0.10%)  .  .  .  .  .  .  .  .  ???:b [/y/other.so]\n";
        let expected = Events { instructions: 1005, first: [20, 3], second: [4, 3] };
        assert_eq!(events_of(text, "/z.so"), expected);
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
