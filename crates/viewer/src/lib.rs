//! Traces as one page that any browser shows: an application that is the same in all pages, and the data of some traces.
//!
//! ```text
//!   Study ─┬─ replay ─→ Columns: births and changes, kinds, threads, memory, collections ─┐
//!          │    └ Thinning: which samples stay, where there are too many                  │
//!          ├─ tree, names ─→ Frames: nodes, frames, lines, strings                        ├─→ Bundle ─→ zlib, base64
//!          ├─ report ──────→ documents: what only the whole trace can answer              │                 │
//!          └─ a snapshot beside the trace: what holds most                                ┘                 v
//!                                                        assets/viewer.html, options, policy ────────────→ Page
//! ```
//!
//! docs/format-page.md describes all of what the page has in it; docs/viewer.md says what it is good for.
//! Names in traces are hostile: none of them is in the page but within base64, and the few texts of the command in JSON
//! without any `<`.
#![forbid(unsafe_code)]

mod beside;
mod bundle;
mod clock;
mod columns;
mod documents;
mod facts;
mod frames;
mod kinds;
mod over_time;
mod page;
mod policy;
mod section;
mod strings;
mod template;
mod thinning;
mod threads;
mod views;

pub use bundle::Bundle;
pub use page::{Page, Question};
pub use policy::Policy;
pub use template::{BrokenTemplate, Template};
pub use thinning::MOST_SAMPLES;
pub use views::ViewName;
