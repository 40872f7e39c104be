//! What a trace amounts to, for people and for programs: [`text`](Report::text) and
//! [`json`](Report::json) tell the same facts.
//!
//! ```text
//!   Study ─→ head   what the trace is of, and what is wrong with it ─┐
//!         └→ View   the answer to one question                      ─┴→ page of text | JSON document
//! ```
//!
//! [`Sum`] does that with [`Several`] traces, and [`diff`] tells what changed between some. Nothing here
//! writes anywhere: pages and documents are strings.
#![forbid(unsafe_code)]

mod amounts;
mod backtrace;
mod branching;
mod breaking;
mod chart;
mod columns;
pub mod diff;
pub mod gates;
mod heap;
mod json;
mod numbers;
mod options;
mod page;
mod place;
mod rates;
mod resident;
mod several;
mod shapes;
mod shorten;
pub mod style;
mod subject;
mod table;
mod text;
mod told;
mod views;
mod young;

use crate::style::Width;

pub use amounts::measured;
pub use branching::Branching;
pub use gates::{Beside, Judged};
pub use json::Flaws;
pub use numbers::number;
pub use options::Options;
pub use page::Page;
pub use place::{file, function};
pub use resident::Resident;
pub use several::{Several, Sum};
pub use shorten::shorten_function;
pub use subject::{Known, Subject};
pub use table::{Cell, Column, Table, Tail};
pub use told::unit_name;
pub use views::{OF_SEVERAL, measure};

use lifetrace_study::Study;
use views::View;

/// A report, not yet in words.
pub struct Report<'a> {
    study: &'a Study,
    options: &'a Options,
    width: Width,
    view: Box<dyn View + 'a>,
}

impl<'a> Report<'a> {
    /// For lines of so many columns.
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &'a Study, options: &'a Options, width: Width) -> anyhow::Result<Self> {
        Ok(Self { study, options, width, view: views::make(study, options, width)? })
    }
}
