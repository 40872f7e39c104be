//! The verbs that read traces, as one types them: what they print, and what they make of bad input.
//!
//! Expected pages are in `golden/`; `LIFETRACE_BLESS=1 cargo test -p lifetrace-cli --test verbs` writes
//! them anew.

mod bad_input;
mod book;
mod check;
mod collections;
mod conversion;
mod diffs;
mod export_readers;
mod exports;
mod facts;
mod filters;
mod front_door;
mod gates;
mod glance;
mod heaps;
mod hostile_names;
mod import_limits;
mod imports;
mod leaks;
mod memory;
mod ours;
mod packets;
mod pages;
mod peers;
mod repair;
mod several;
mod slicing;
mod snapshots;
mod streams;
mod stretches;
mod stripping;
mod tables;
mod viewer;
mod views;
mod widths;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use lifetrace_trace::lt::{Listing, PacketFacts};
use serde_json::Value;

const SMALL: &str = "reference-ocamlopt.ctf";

/// One of everything, in three segments of four packets.
const SAMPLE: &str = "sample-v1.0.lt";

/// The command, in the folder of the traces, where the environment decides nothing.
fn lifetrace(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lifetrace"));
    command.args(arguments).current_dir(traces());
    for variable in ["COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(variable);
    }
    command
}

fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces")
}

fn run(arguments: &[&str]) -> Output {
    lifetrace(arguments).output().unwrap()
}

/// Runs the command with a file as its standard input.
fn run_on(input: &Path, arguments: &[&str]) -> Output {
    let input = Stdio::from(fs::File::open(input).unwrap());
    lifetrace(arguments).stdin(input).output().unwrap()
}

fn packets_of(trace: &[u8]) -> Vec<PacketFacts> {
    Listing::new(trace).map(Result::unwrap).collect()
}

/// A file that is gone after the test.
struct Scratch(tempfile::TempDir);

impl Scratch {
    const NAME: &str = "scratch.lt";

    fn new(contents: &[u8]) -> Self {
        let scratch = Self(tempfile::TempDir::new().unwrap());
        scratch.write(contents);
        scratch
    }

    fn write(&self, contents: &[u8]) {
        fs::write(self.path(), contents).unwrap();
    }

    fn path(&self) -> PathBuf {
        self.0.path().join(Self::NAME)
    }
}

/// The stdout of a command that has no reason to complain.
fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(arguments)).unwrap()
}

/// A path as an argument.
fn argument(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// All views; of the one about a function it is whatever is outermost.
const VIEWS: [&[&str]; 15] = [
    &["--view", "summary"],
    &["--view", "hot"],
    &["--view", "tree"],
    &["--view", "calls", "--focus", "fn~."],
    &["--view", "paths"],
    &["--view", "functions"],
    &["--view", "promotion"],
    &["--view", "gc"],
    &["--view", "peak"],
    &["--view", "timeline"],
    &["--view", "threads"],
    &["--view", "sizes"],
    &["--view", "leaks"],
    &["--view", "temporary"],
    &["--view", "lifetimes"],
];

fn check_golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("LIFETRACE_BLESS").is_some() {
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} differs; found:\n{found}");
}
