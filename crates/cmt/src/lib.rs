//! What OCaml's compiler leaves of a program's types: the `.cmt` and `.cmti` files of `-bin-annot`.
//!
//! ```text
//! bytes ─▶ envelope   which version wrote it; where its values begin; unpacked
//!        ─▶ marshal   OCaml's marshalled values, as a graph
//!        ─▶ walk      the typed tree: where types are declared, and within which modules
//!        ─▶ types     type expressions and declarations ─▶ Unit
//! ```
//!
//! A typed tree has some eighty types that change with each version of the compiler, of which only those matter that
//! declare types. So the walk goes through all of it without knowing what it goes through, and stops at what has the
//! form of a declaration, by the number and the kinds of its fields: these forms are the same in all versions that are
//! known. What looks so, and is none, could only add a type that no program has.
//!
//! Bytes may be hostile: lengths are checked against what is left, nothing recurses on what was read but to a fixed
//! depth, and what is asked for in memory is bounded by the length of the file.
#![forbid(unsafe_code)]

mod envelope;
mod form;
mod marshal;
mod model;
mod types;
mod value;
mod walk;

pub use envelope::Version;
pub use marshal::Malformed;
pub use model::{
    Alias, Constructor, Declaration, Exception, Field, Kind, Name, Representation, Type, TypeId,
    Unit,
};

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is something else.
    #[error("is no .cmt file: it begins otherwise")]
    NoCmt,
    /// The compiler that wrote it has other types than those that are known.
    #[error(
        "was written by {0}, whose .cmt files are not known; known are those of OCaml 4.13, 4.14 and 5.3"
    )]
    Version(String),
    /// It makes no sense, or was cut.
    #[error("is damaged: {0}")]
    Malformed(#[from] Malformed),
}

/// Reads a `.cmt` or a `.cmti` file.
///
/// # Errors
/// [`ReadError`].
pub fn read(bytes: &[u8]) -> Result<Unit, ReadError> {
    let (version, rest) = envelope::open(bytes)?;
    let values = marshal::read(rest)?;
    Ok(walk::unit(&values, version)?)
}
