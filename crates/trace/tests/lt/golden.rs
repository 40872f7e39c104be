//! Golden files: traces of every version that was ever written stay readable, and what we write
//! today is what we wrote yesterday.
//!
//! `LIFETRACE_BLESS=1 cargo test -p lifetrace-trace --test lt golden` writes those of the current
//! version anew; only a change of version may do that.

use std::path::PathBuf;

use lifetrace_trace::lt::{Reader, Summary};

use lifetrace_trace::transfer::Format;

use crate::copies::converted;
use crate::crowd;
use crate::managed;
use crate::sample;
use crate::support::{fixtures, fixtures_with, read_from};

/// Traces of the current version, and what they are made from.
fn expected() -> Vec<(PathBuf, Vec<u8>)> {
    let of_memtrace = |name: &str| {
        let bytes = std::fs::read(fixtures().join(name).with_extension("ctf")).unwrap();
        (fixtures().join(format!("{name}-v1.0.lt")), converted(&bytes, Format::Lt).0)
    };
    let names = ["ocamlopt-1e-6", "listmap-1e-5", "server-1e-5"];
    let mut all: Vec<_> = names.into_iter().map(of_memtrace).collect();
    all.push((fixtures().join("sample-v1.0.lt"), sample::trace()));
    all.push((fixtures().join("crowd-v1.0.lt"), crowd::trace()));
    all.push((fixtures().join("managed-v1.0.lt"), managed::trace()));
    all
}

#[test]
fn the_current_version_is_written_as_before() {
    for (path, trace) in expected() {
        if std::env::var_os("LIFETRACE_BLESS").is_some() {
            std::fs::write(&path, &trace).unwrap();
        }
        let golden = std::fs::read(&path).unwrap_or_default();
        assert!(golden == trace, "{} differs from what is written", path.display());
    }
}

#[test]
fn all_golden_files_are_whole() {
    let paths = fixtures_with("lt");
    assert!(paths.len() >= 5);
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let mut reader = Reader::open(&bytes[..]).unwrap();
        // What is written for a version has all that there is; a recording may be short.
        let is_of_a_version = path.to_string_lossy().ends_with("-v1.0.lt");
        let least = if is_of_a_version { 400 } else { 1 };
        assert!(read_from(&mut reader).len() > least, "{}", path.display());
        assert!(reader.is_complete() && reader.damages().is_empty(), "{}", path.display());
        assert_eq!(reader.minor_version(), 0);
        let (index, passed) = (reader.index().unwrap(), reader.passed());
        assert_eq!(index.checkpoints, passed.checkpoints);
        let Summary { packets, frames, .. } = index.summary;
        assert_eq!((packets, frames), (passed.packets, passed.frames), "{}", path.display());
    }
}
