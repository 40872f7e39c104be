//! What blocks of OCaml's are by the types that a program declares, as its `.cmt` files have them.
//!
//! ```text
//! folders ─▶ sources   files, and those of the units that these were compiled against
//!          ─▶ naming    which declaration a name means ─▶ universe: all types there are, and how blocks of them look
//! a heap  ─▶ fits      whether a block may be of a type ─▶ verdicts: of each block, the only type that it may be of
//! ```
//!
//! A block is named only if one type alone fits, of all that any of the files has: records, constructors, exceptions,
//! tuples, modules, polymorphic variants, arrays. What fits is asked of its tag and size, of what its fields have, and of
//! what these have in turn. Then it is known what its own fields are to be, and what they lead to is named by that. Where
//! the one contradicts the other, neither is believed.

mod blocks;
mod candidates;
mod classes;
mod fits;
mod naming;
mod sources;
mod types;
mod universe;
mod verdict;
mod verdicts;

pub use sources::Sources;
pub(crate) use verdict::{Evidence, Verdict};
pub(crate) use verdicts::{Known, Verdicts};
