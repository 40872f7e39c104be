//! How large blocks are.

use lifetrace_analysis::Sampling;
use lifetrace_analysis::sizes::{SizeClass, Sizes as Observed};
use lifetrace_human as human;
use lifetrace_study::Study;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{View, fields};
use crate::amounts::{Quantity, bytes_or_none, objects_or_none};
use crate::page::Page;
use crate::style::STRONG;
use crate::table::{Cell, Column, Table, Tail};

/// All sizes.
pub struct Sizes {
    classes: Vec<SizeClass>,
    sampling: Sampling,
}

impl Sizes {
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &Study) -> anyhow::Result<Self> {
        let mut observed = Observed::default();
        study.replay(&mut observed)?;
        let sampling = study.reading.profile.summary().sampling;
        Ok(Self { classes: observed.report(), sampling })
    }

    fn row(&self, class: &SizeClass, all_bytes: f64, all_objects: f64) -> [Cell; 8] {
        let part = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
        let bytes = part(class.allocated.bytes.value, all_bytes);
        let objects = part(class.allocated.objects.value, all_objects);
        let bounds = match (class.least, class.most) {
            (least, most) if least == most => human::bytes(least as f64),
            (least, most) => format!("{} - {}", least, human::bytes(most as f64)),
        };
        [
            bounds.into(),
            human::percent(objects).into(),
            Cell::Bar(objects),
            objects_or_none(&class.allocated, &self.sampling).into(),
            human::percent(bytes).into(),
            Cell::Bar(bytes),
            bytes_or_none(&class.allocated, &self.sampling).into(),
            bytes_or_none(&class.live, &self.sampling).into(),
        ]
    }
}

impl View for Sizes {
    fn text(&self, page: &mut Page) {
        page.prose("", STRONG, "Blocks by size, what reallocations added by its own");
        page.line("");
        let sum = |of: fn(&SizeClass) -> f64| self.classes.iter().map(of).sum::<f64>();
        let bytes = sum(|class| class.allocated.bytes.value);
        let objects = sum(|class| class.allocated.objects.value);
        let mut table = Table::new([
            Column::right("size").label(),
            Column::share("objects"),
            Column::bar(),
            Column::left("objects").continues().goes(2),
            Column::share("bytes"),
            Column::bar(),
            Column::left("bytes").continues(),
            Column::left("live at end").goes(1),
        ]);
        for class in &self.classes {
            table.row(self.row(class, bytes, objects), Tail::None);
        }
        page.table(&table);
    }

    fn json(&self) -> serde_json::Result<Map<String, Value>> {
        let entry = |class: &SizeClass| Entry {
            least_bytes: class.least,
            most_bytes: class.most,
            allocated: Quantity::new(&class.allocated),
            live_at_end: Quantity::new(&class.live),
        };
        fields(&Document { sizes: self.classes.iter().map(entry).collect() })
    }
}

#[derive(Serialize)]
struct Document {
    sizes: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    least_bytes: u64,
    most_bytes: u64,
    allocated: Quantity,
    live_at_end: Quantity,
}
