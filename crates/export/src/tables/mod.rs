//! Tables for programs that calculate: events and callsites, as CSV and as JSON, with the same names.

mod callsites;
mod csv;
mod events;

pub use callsites::{write_csv as callsites_csv, write_json as callsites_json};
pub use events::{write_csv as events_csv, write_json as events_json};
