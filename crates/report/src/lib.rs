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
mod fields;
pub mod gates;
mod heap;
mod json;
mod lost;
mod mapped;
mod options;
mod page;
mod place;
mod resident;
mod several;
mod shorten;
pub mod style;
mod subject;
mod table;
mod text;
mod trace_facts;
pub mod views;
mod ways;
mod young;

use crate::style::Width;

pub use amounts::{Number, Quantity, Total, measured};
pub use branching::Branching;
pub use fields::number;
pub use gates::{Beside, Judged};
pub use heap::young_heap;
pub use json::Flaws;
pub use options::Options;
pub use page::Page;
pub use place::{brief_source, file, function, source};
pub use resident::Resident;
pub use several::{OF_SEVERAL, Several, Sum, refuse_twins};
pub use shorten::{place as shorten_place, shorten_function};
pub use subject::{Known, Subject};
pub use table::{Cell, Column, Table, Tail};
pub use trace_facts::unit_name;
pub use views::{levels, measure};
pub use ways::{FindWays, Way, Ways};

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
        Self::with_ways(study, options, width, &|| None)
    }

    /// For lines of so many columns; what holds leaks is found by a snapshot of the heap, if there is one.
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn with_ways(
        study: &'a Study,
        options: &'a Options,
        width: Width,
        ways: &FindWays<'_>,
    ) -> anyhow::Result<Self> {
        Ok(Self { study, options, width, view: views::make(study, options, width, ways)? })
    }
}
