//! What stands around the values of a file: which version wrote them, and where they begin.

use std::fmt;

use crate::ReadError;
use crate::marshal::{self, Malformed};

const MAGIC: usize = 12;
const INTERFACE: &[u8] = b"Caml1999I";
const TYPED_TREE: &[u8] = b"Caml1999T";

/// What comes before the typed tree of a unit that has no interface of its own: what a `.cmi` file has.
const VALUES_OF_INTERFACE: usize = 3;

/// A version of the compiler whose files are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 4.13.
    V4_13,
    /// 4.14.
    V4_14,
    /// 5.3.
    V5_3,
}

impl fmt::Display for Version {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Version::V4_13 => "OCaml 4.13",
            Version::V4_14 => "OCaml 4.14",
            Version::V5_3 => "OCaml 5.3",
        })
    }
}

/// The version, and what follows its magic number.
///
/// # Errors
/// If it is no such file, or of a version that is not known.
pub(crate) fn open(bytes: &[u8]) -> Result<(Version, &[u8]), ReadError> {
    let mut rest = bytes;
    if rest.starts_with(INTERFACE) {
        rest = rest.get(MAGIC..).ok_or(Malformed::Ends)?;
        for _ in 0..VALUES_OF_INTERFACE {
            rest = marshal::skip(rest)?;
        }
    }
    if !rest.starts_with(TYPED_TREE) {
        return Err(ReadError::NoCmt);
    }
    let (magic, rest) = rest.split_at_checked(MAGIC).ok_or(Malformed::Ends)?;
    Ok((version(&magic[TYPED_TREE.len()..])?, rest))
}

/// By the number behind the magic one's letters.
fn version(number: &[u8]) -> Result<Version, ReadError> {
    match number {
        b"030" => Ok(Version::V4_13),
        b"031" => Ok(Version::V4_14),
        b"035" => Ok(Version::V5_3),
        other => Err(ReadError::Version(unknown(other))),
    }
}

fn unknown(number: &[u8]) -> String {
    let name = match number {
        b"028" => "OCaml 4.11",
        b"029" => "OCaml 4.12",
        b"032" => "OCaml 5.0",
        b"033" => "OCaml 5.1",
        b"034" => "OCaml 5.2",
        b"036" => "OCaml 5.4",
        _ => return format!("a compiler with the magic number Caml1999T{}", number.escape_ascii()),
    };
    name.to_owned()
}
