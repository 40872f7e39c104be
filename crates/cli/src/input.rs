//! Where a trace is read from, and which format it has: told by its first bytes, so that names don't
//! matter. `-` is standard input.

use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// How a trace in Memtrace's format begins, and one in ours.
const MEMTRACE: [u8; 4] = [0xc1, 0x1f, 0xfc, 0xc1];
const LT: [u8; 4] = [0xf5, b'L', b'T', 0x1a];

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
}

impl Input {
    /// Opens a file, or standard input if the path is `-`.
    ///
    /// # Errors
    /// If it cannot be opened or read, or is a directory.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            let source = Source::Stdin(io::stdin());
            return Self::begin(PathBuf::from("<stdin>"), None, source);
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

    fn begin(path: PathBuf, bytes: Option<u64>, mut source: Source) -> anyhow::Result<Self> {
        let mut beginning = Vec::new();
        let read = (&mut source).take(LT.len() as u64).read_to_end(&mut beginning);
        read.with_context(|| format!("{}: cannot be read", path.display()))?;
        let kind = kind_of(&beginning, &path);
        Ok(Self { path, bytes, kind, beginning, source })
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
