//! Where a trace is read from, and which format it has: told by its first bytes, so that names don't
//! matter. `-` is standard input.
//!
//! Where these are no format's, since the file is damaged there or no trace at all, a `.lt` trace is
//! looked for in the first megabyte: both of its headers are at the very beginning.

use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use lifetrace_import::foreign;
use lifetrace_trace::lt::{Listing, PacketKind};

/// As messages call standard input.
pub const STDIN: &str = "<stdin>";

/// How a trace in Memtrace's format begins, and one in ours.
const MEMTRACE: [u8; 4] = [0xc1, 0x1f, 0xfc, 0xc1];
const LT: [u8; 4] = [0xf5, b'L', b'T', 0x1a];

/// So far an intact header is looked for, in bytes.
const SEARCHED: u64 = 1 << 20;

/// Which format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Our own.
    Lt,
    /// OCaml Memtrace's.
    Memtrace,
}

/// An opened input, of which nothing but the first bytes has been read.
#[derive(Debug)]
pub struct Input {
    /// As messages call it.
    pub path: PathBuf,
    /// Length in bytes, if it is a file.
    pub bytes: Option<u64>,
    /// What it seems to be; where the beginning says nothing, its name decides.
    pub kind: Kind,
    beginning: Vec<u8>,
    source: Source,
}

/// All of the input.
pub type Bytes = Chain<Cursor<Vec<u8>>, Source>;

/// A file, or standard input.
#[derive(Debug)]
pub enum Source {
    /// Can be sought.
    File(File),
    /// Cannot.
    Stdin(io::Stdin),
    /// Is still being written, as long as that is false: then its end is not the end.
    Growing(File, Arc<AtomicBool>),
    /// Not worth looking at, since there was no trace where one begins.
    Nothing,
}

impl Input {
    /// Opens a file, or standard input if the path is `-`.
    ///
    /// # Errors
    /// If it cannot be opened or read, or is a directory.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            let source = Source::Stdin(io::stdin());
            return Self::begin(PathBuf::from(STDIN), None, source);
        }
        let name = path.display();
        let file = File::open(path).with_context(|| format!("{name}: cannot be opened"))?;
        let metadata = file.metadata().with_context(|| format!("{name}: cannot be read"))?;
        if metadata.is_dir() {
            bail!("{name}: is a directory\n  name one of the trace files in it");
        }
        let bytes = metadata.is_file().then_some(metadata.len());
        Self::begin(path.to_owned(), bytes, Source::File(file))
    }

    /// Opens a `.lt` trace that is being written. As long as `is_whole` is false, reading it beyond what is there would
    /// block, and can be tried again.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn growing(path: &Path, is_whole: &Arc<AtomicBool>) -> anyhow::Result<Self> {
        let file = File::open(path);
        let file = file.with_context(|| format!("{}: cannot be opened", path.display()))?;
        let source = Source::Growing(file, Arc::clone(is_whole));
        let (kind, beginning) = (Kind::Lt, Vec::new());
        Ok(Self { path: path.to_owned(), bytes: None, kind, beginning, source })
    }

    fn begin(path: PathBuf, bytes: Option<u64>, mut source: Source) -> anyhow::Result<Self> {
        let mut beginning = Vec::new();
        let mut read = |wanted: u64, beginning: &mut Vec<u8>| {
            let outcome = (&mut source).take(wanted).read_to_end(beginning);
            outcome.with_context(|| format!("{}: cannot be read", path.display()))
        };
        read(LT.len() as u64, &mut beginning)?;
        let mut kind = kind_of(&beginning, &path);
        if !beginning.starts_with(&LT) && !beginning.starts_with(&MEMTRACE) {
            read(SEARCHED, &mut beginning)?;
            match has_header(&beginning) {
                true => kind = Kind::Lt,
                false => {
                    refuse_foreign(&path, &beginning)?;
                    source = Source::Nothing;
                }
            }
        }
        Ok(Self { path, bytes, kind, beginning, source })
    }

    /// What has been read to find out what it is: if that is nothing, all that is to be said of it.
    pub fn beginning(&self) -> &[u8] {
        &self.beginning
    }

    /// From the first byte to the last.
    pub fn into_bytes(self) -> Bytes {
        Cursor::new(self.beginning).chain(self.source)
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Stdin(stdin) => stdin.read(buffer),
            Self::Growing(file, is_whole) => {
                // What is written is there before it is called whole.
                let is_end = is_whole.load(Ordering::Acquire);
                match file.read(buffer)? {
                    0 if !is_end && !buffer.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
                    count => Ok(count),
                }
            }
            Self::Nothing => Ok(0),
        }
    }
}

fn kind_of(beginning: &[u8], path: &Path) -> Kind {
    if beginning.starts_with(&LT) {
        return Kind::Lt;
    }
    let is_ours_by_name = path.extension().is_some_and(|suffix| suffix == "lt");
    match beginning.starts_with(&MEMTRACE) || !is_ours_by_name {
        true => Kind::Memtrace,
        false => Kind::Lt,
    }
}

/// # Errors
/// If it is another profiler's file.
fn refuse_foreign(path: &Path, beginning: &[u8]) -> anyhow::Result<()> {
    let Some(foreign) = foreign::recognise(beginning) else { return Ok(()) };
    let name = if path == Path::new(STDIN) { Path::new("-") } else { path };
    bail!("{}: {}", path.display(), foreign.advice(&name.display().to_string()))
}

/// Whether a `.lt` trace is in there, whose beginning is damaged.
fn has_header(beginning: &[u8]) -> bool {
    Listing::new(beginning).flatten().any(|packet| packet.kind == PacketKind::Header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_decides_and_then_the_name() {
        assert_eq!(kind_of(&LT, Path::new("t.ctf")), Kind::Lt);
        assert_eq!(kind_of(&MEMTRACE, Path::new("t.lt")), Kind::Memtrace);
        assert_eq!(kind_of(b"\0\0\0\0", Path::new("t.lt")), Kind::Lt);
        assert_eq!(kind_of(b"", Path::new("t.ctf")), Kind::Memtrace);
    }

    #[test]
    fn a_damaged_beginning_does_not_hide_a_trace() {
        let whole = include_bytes!("../../../fixtures/traces/sample-v1.0.lt");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        let check = |bytes: &[u8], kind: Kind, len: usize| {
            std::fs::write(&path, bytes).unwrap();
            let input = Input::open(&path).unwrap();
            assert_eq!(input.kind, kind);
            assert_eq!(io::copy(&mut input.into_bytes(), &mut io::sink()).unwrap(), len as u64);
        };
        let mut damaged = whole.to_vec();
        damaged[1] ^= 1;
        check(&damaged, Kind::Lt, whole.len());
        let late = [&[7; SEARCHED as usize + 100][..], whole].concat();
        check(&late, Kind::Memtrace, SEARCHED as usize + LT.len());
    }

    #[test]
    fn nothing_is_lost_by_looking_at_the_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        for content in [&b""[..], b"ab", &LT, b"longer than the mark"] {
            std::fs::write(&path, content).unwrap();
            let input = Input::open(&path).unwrap();
            assert_eq!(input.bytes, Some(content.len() as u64));
            let mut read = Vec::new();
            input.into_bytes().read_to_end(&mut read).unwrap();
            assert_eq!(read, content);
        }
    }
}
