//! Golden files: snapshots of every version that was ever written stay readable, and what we write today is what we wrote
//! yesterday.
//!
//! `LIFETRACE_BLESS=1 cargo test -p lifetrace-trace --test lth golden` writes that of the current version anew; only a
//! change of version may do that.

use std::path::PathBuf;

use lifetrace_trace::lth::{MAJOR, MINOR, Reader};

use crate::sample;
use crate::support::read;

/// The folder with golden files.
pub fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/heaps"))
}

/// All golden files.
pub fn files() -> Vec<(PathBuf, Vec<u8>)> {
    let paths = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "lth")).collect();
    paths.sort();
    let read = |path: PathBuf| (path.clone(), std::fs::read(path).unwrap());
    paths.into_iter().map(read).collect()
}

#[test]
fn the_current_version_is_written_as_before() {
    let path = folder().join(format!("sample-v{MAJOR}.{MINOR}.lth"));
    let snapshot = sample::snapshot();
    if std::env::var_os("LIFETRACE_BLESS").is_some() {
        std::fs::write(&path, &snapshot).unwrap();
    }
    let golden = std::fs::read(&path).unwrap_or_default();
    // How well the same is compressed is the compressor's affair.
    assert!(read(&golden) == read(&snapshot), "{} differs from what is written", path.display());
}

#[test]
fn all_golden_files_are_whole() {
    for (path, bytes) in files() {
        let (told, is_complete) = read(&bytes).unwrap();
        assert!(told.len() > 20 && is_complete, "{}", path.display());
        let header = Reader::open(&bytes[..]).unwrap().header().clone();
        assert!(!header.runtime.is_empty(), "{}", path.display());
    }
}
