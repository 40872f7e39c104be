//! Which formats traces can be written in.

use std::ffi::OsStr;
use std::path::Path;

/// A format of trace files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Our own: bytes, threads, facts; small, and readable whatever happens to a part of it.
    #[default]
    Lt,
    /// That of OCaml's Memtrace: words, and nothing but the lives of blocks.
    Memtrace,
}

impl Format {
    /// What a file of this name is to be in, if its suffix says.
    pub fn of_name(name: &OsStr) -> Option<Format> {
        match Path::new(name).extension()?.to_str()? {
            "lt" => Some(Format::Lt),
            "ctf" => Some(Format::Memtrace),
            _ => None,
        }
    }

    /// Template of the traces' names when the user gives none; see
    /// [`CollectorOptions::output`](crate::CollectorOptions::output).
    pub fn default_template(self) -> &'static str {
        match self {
            Format::Lt => "lifetrace.%e.%p.lt",
            Format::Memtrace => "lifetrace.%e.%p.ctf",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_decides() {
        let of = |name: &str| Format::of_name(OsStr::new(name));
        assert_eq!(of("a/b.%p.lt"), Some(Format::Lt));
        assert_eq!(of("x.ctf"), Some(Format::Memtrace));
        assert_eq!((of("x"), of("x.ctf.old"), of("/dev/null")), (None, None, None));
        for format in [Format::Lt, Format::Memtrace] {
            assert_eq!(of(format.default_template()), Some(format));
        }
    }
}
