//! What a trace amounts to, for people and for programs: [`text`](Report::text) and
//! [`json`](Report::json) tell the same facts.
//!
//! ```text
//!   Study ─→ head   what the trace is of, and what is wrong with it ─┐
//!         └→ View   the answer to one question                      ─┴→ page of text | JSON document
//! ```
//!
//! [`Sum`] does that with [`Several`] traces.

mod amounts;
mod backtrace;
mod chart;
mod heap;
mod json;
mod page;
mod place;
mod resident;
mod several;
mod shorten;
mod subject;
mod text;
mod told;
mod views;
mod young;

use crate::cmd::report::Options;
use crate::study::Study;

pub use amounts::measured;
pub use json::{Flaws, metric_name, number, to_json};
pub use page::Page;
pub use place::{file, function};
pub use several::{Several, Sum};
pub use subject::{Counts, Known, Subject};
pub use told::{Coverage, Told, unit_name};
pub use views::leaks::shape_name;
pub use views::{OF_SEVERAL, ViewName, measure};

use views::View;

/// A report, not yet in words.
pub struct Report<'a> {
    study: &'a Study,
    options: &'a Options,
    view: Box<dyn View + 'a>,
}

impl<'a> Report<'a> {
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &'a Study, options: &'a Options) -> anyhow::Result<Self> {
        Ok(Self { study, options, view: views::make(study, options)? })
    }
}
