//! Pages and bundles, read back by a decoder that knows docs/format-page.md and nothing of the crate's code, and compared
//! with what a replay of the trace tells.

mod decoded;
mod heard;
mod hostile;
mod made;
mod thinned;
mod whole;

use std::path::{Path, PathBuf};

use lifetrace_study::Study;
use lifetrace_study::choice::Choice;
use lifetrace_study::watch::unwatched;
use lifetrace_viewer::Bundle;

use decoded::Decoded;

/// More than any trace of these tests has.
const ALL: u64 = 1 << 30;

fn study(path: &Path) -> Study {
    Study::of(path, Choice::default(), unwatched).unwrap()
}

fn decode(study: &Study, most: u64) -> Decoded {
    Decoded::new(Bundle::of(study, most).unwrap().bytes().unwrap())
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces").join(name)
}

/// All traces that are kept.
fn fixtures() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixture("")).unwrap().map(|entry| entry.unwrap().path());
    let is_trace = |path: &PathBuf| path.extension().is_some_and(|it| it == "lt" || it == "ctf");
    let mut traces: Vec<_> = entries.filter(is_trace).collect();
    traces.sort();
    assert!(traces.len() > 20);
    traces
}
