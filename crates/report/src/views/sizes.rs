//! How large blocks are.

use lifetrace_analysis::Sampling;
use lifetrace_analysis::sizes::{SizeClass, Sizes as Observed};
use lifetrace_human as human;
use lifetrace_study::Study;
use serde::Serialize;

use super::Render;
use crate::amounts::{Quantity, bytes_or_none, objects_or_none};
use crate::page::Page;
use crate::style::STRONG;
use crate::table::{Cell, Column, Table, Tail};

/// How large blocks are: the document of the view.
#[derive(Debug, Serialize)]
pub struct Sizes {
    /// From the smallest on.
    sizes: Vec<Class>,
    #[serde(skip)]
    sampling: Sampling,
}

/// Blocks of `least_bytes` to `most_bytes`, both included.
#[derive(Debug, Serialize)]
struct Class {
    least_bytes: u64,
    most_bytes: u64,
    allocated: Quantity,
    live_at_end: Quantity,
}

impl Sizes {
    /// Finds the answer in a trace.
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &Study) -> anyhow::Result<Self> {
        let mut observed = Observed::default();
        study.replay(&mut observed)?;
        let sampling = study.reading.profile.summary().sampling;
        Ok(Self { sizes: observed.report().iter().map(Class::new).collect(), sampling })
    }

    fn row(&self, class: &Class, all_bytes: f64, all_objects: f64) -> [Cell; 8] {
        let (allocated, live) = (&class.allocated.0, &class.live_at_end.0);
        let part = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
        let bytes = part(allocated.bytes.value, all_bytes);
        let objects = part(allocated.objects.value, all_objects);
        let bounds = match (class.least_bytes, class.most_bytes) {
            (least, most) if least == most => human::bytes(least as f64),
            (least, most) => format!("{} - {}", least, human::bytes(most as f64)),
        };
        [
            bounds.into(),
            human::percent(objects).into(),
            Cell::Bar(objects),
            objects_or_none(allocated, &self.sampling).into(),
            human::percent(bytes).into(),
            Cell::Bar(bytes),
            bytes_or_none(allocated, &self.sampling).into(),
            bytes_or_none(live, &self.sampling).into(),
        ]
    }
}

impl Class {
    fn new(class: &SizeClass) -> Self {
        Self {
            least_bytes: class.least,
            most_bytes: class.most,
            allocated: Quantity(class.allocated),
            live_at_end: Quantity(class.live),
        }
    }
}

impl Render for Sizes {
    fn render(&self, page: &mut Page) {
        page.prose("", STRONG, "Blocks by size, what reallocations added by its own");
        page.line("");
        let sum = |of: fn(&Class) -> f64| self.sizes.iter().map(of).sum::<f64>();
        let bytes = sum(|class| class.allocated.0.bytes.value);
        let objects = sum(|class| class.allocated.0.objects.value);
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
        for class in &self.sizes {
            table.row(self.row(class, bytes, objects), Tail::None);
        }
        page.table(&table);
    }
}
