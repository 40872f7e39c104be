//! What the small languages of the command line have in common: [filters](crate::filter) and
//! [gates](crate::gate).
//!
//! A [`scan::Scanner`] goes over the text; [`quantity`] reads numbers with units
//! (of a text that is nothing else, [`whole`]); what cannot be read
//! is an [`error::Mistake`], shown under the text with what may have been meant ([`suggest`]).

pub(crate) mod error;
pub(crate) mod quantity;
pub(crate) mod scan;
pub(crate) mod suggest;
mod whole;
