//! Golden files: traces of every version that was ever written stay readable, and what we write
//! today is what we wrote yesterday.
//!
//! `LIFETRACE_BLESS=1 cargo test -p lifetrace-trace --test lt golden` writes those of the current
//! version anew; only a change of version may do that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lifetrace_trace::lt::{MAJOR, Reader, Summary, Version};

use lifetrace_trace::transfer::Format;

use crate::copies::converted;
use crate::crowd;
use crate::managed;
use crate::sample;
use crate::support::{fixtures, fixtures_with, read_from};

/// Traces of the current version, and what they are made from.
fn expected() -> Vec<(PathBuf, Vec<u8>)> {
    let of_memtrace = |name: &'static str| {
        let bytes = std::fs::read(fixtures().join(name).with_extension("ctf")).unwrap();
        (name, converted(&bytes, Format::Lt).0)
    };
    let names = ["ocamlopt-1e-6", "json-1e-5", "listmap-1e-5", "server-1e-5"];
    let converted = names.into_iter().map(of_memtrace);
    let made =
        [("sample", sample::trace()), ("crowd", crowd::trace()), ("managed", managed::trace())];
    let Version { major, minor } = Version::CURRENT;
    let path = |name: &str| fixtures().join(format!("{name}-v{major}.{minor}.lt"));
    converted.chain(made).map(|(name, trace)| (path(name), trace)).collect()
}

/// Of a golden file, by its name. Other files are recordings of no matter which.
pub fn version(path: &Path) -> Option<Version> {
    let (_, version) = path.file_stem()?.to_str()?.rsplit_once("-v")?;
    let (major, minor) = version.split_once('.')?;
    Some(Version { major: major.parse().ok()?, minor: minor.parse().ok()? })
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
    let versions: BTreeSet<u64> = paths.iter().filter_map(|it| Some(version(it)?.major)).collect();
    assert!(versions.into_iter().eq(1..=MAJOR));
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let mut reader = Reader::open(&bytes[..]).unwrap();
        // What is written for a version has all that there is; a recording may be short.
        let version = version(&path);
        let least = if version.is_some() { 400 } else { 1 };
        assert!(read_from(&mut reader).len() > least, "{}", path.display());
        assert!(reader.is_complete() && reader.damages().is_empty(), "{}", path.display());
        assert!(version.is_none_or(|version| version == reader.version()), "{}", path.display());
        let (index, passed) = (reader.index().unwrap(), reader.passed());
        assert_eq!(index.checkpoints, passed.checkpoints);
        let Summary { packets, frames, .. } = index.summary;
        assert_eq!((packets, frames), (passed.packets, passed.frames), "{}", path.display());
    }
}
