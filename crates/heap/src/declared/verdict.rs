//! What is known of one block.

use serde::Serialize;

use super::universe::LayoutNumber;

/// How it is known what a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Evidence {
    /// No other type looks so.
    Shape,
    /// What refers to it says so.
    Holder,
}

/// What is known of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// It has no fields, or too many, or no type looks so.
    Unknown,
    /// So many types look so.
    Several(u32),
    /// The only type that looks so is not what refers to such blocks says they are.
    Contradicted,
    One(LayoutNumber, Evidence),
    /// An array, as what refers to it says.
    Array,
}

impl Verdict {
    /// What is left of it where types that are not known may look the same.
    pub(crate) fn without_names(self) -> Verdict {
        match self {
            Verdict::One(..) | Verdict::Array => Verdict::Several(1),
            other => other,
        }
    }
}
