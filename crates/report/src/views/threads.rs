//! Who allocates, and who frees what others allocated.

use lifetrace_analysis::Sampling;
use lifetrace_analysis::threads::{ThreadReport, Threads as Observed};
use lifetrace_human as human;
use lifetrace_study::Study;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{View, fields};
use crate::Options;
use crate::amounts::{Quantity, bytes_or_none};
use crate::page::Page;
use crate::style::{FAINT, STRONG};
use crate::table::{Cell, Column, Table, Tail};

/// All threads.
pub struct Threads {
    threads: Vec<ThreadReport>,
    total: f64,
    sampling: Sampling,
    has_threads: bool,
    top: usize,
}

impl Threads {
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &Study, options: &Options) -> anyhow::Result<Self> {
        let mut observed = Observed::default();
        study.replay(&mut observed)?;
        let summary = study.reading.profile.summary();
        Ok(Self {
            threads: observed.report(),
            total: summary.allocated.bytes.value,
            sampling: summary.sampling,
            has_threads: study.reading.trace.has_facts(),
            top: options.top,
        })
    }

    fn share(&self, thread: &ThreadReport) -> f64 {
        if self.total > 0.0 { thread.allocated.bytes.value / self.total } else { 0.0 }
    }

    fn row(&self, thread: &ThreadReport) -> [Cell; 8] {
        let bytes = |amount| bytes_or_none(amount, &self.sampling);
        let name = thread.name.as_deref().unwrap_or_default();
        let os_id = thread.os_id.map(|id| id.to_string()).unwrap_or_default();
        [
            thread.id.0.to_string(),
            os_id,
            name.to_owned(),
            human::percent(self.share(thread)),
            bytes(&thread.allocated),
            bytes(&thread.live),
            bytes(&thread.freed_by_others),
            bytes(&thread.freed_for_others),
        ]
        .map(Cell::from)
    }
}

impl View for Threads {
    fn text(&self, page: &mut Page) {
        if !self.has_threads {
            page.prose("", FAINT, "The trace's format has no room for threads.");
            return;
        }
        let shown = &self.threads[..self.top.min(self.threads.len())];
        let heading =
            format!("{} of {} threads by bytes allocated", shown.len(), self.threads.len());
        page.prose("", STRONG, &heading);
        page.line("");
        let mut table = Table::new([
            Column::right("#"),
            Column::right("kernel's").called("the kernel's numbers").goes(4),
            Column::left("name"),
            Column::share("share"),
            Column::left("allocated"),
            Column::left("live at end").goes(1),
            Column::left("freed by others").goes(2),
            Column::left("freed for others").goes(3),
        ]);
        for thread in shown {
            table.row(self.row(thread), Tail::None);
        }
        page.table(&table);
    }

    fn json(&self) -> serde_json::Result<Map<String, Value>> {
        let entry = |thread: &'_ ThreadReport| Entry {
            thread: thread.id.0,
            kernel_thread: thread.os_id,
            name: thread.name.as_deref().map(str::to_owned),
            share: self.share(thread),
            allocated: Quantity::new(&thread.allocated),
            live_at_end: Quantity::new(&thread.live),
            freed_by_others: Quantity::new(&thread.freed_by_others),
            freed_for_others: Quantity::new(&thread.freed_for_others),
        };
        fields(&Document {
            threads_total: self.threads.len(),
            threads: self.threads.iter().take(self.top).map(entry).collect(),
        })
    }
}

#[derive(Serialize)]
struct Document {
    threads_total: usize,
    threads: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    thread: u32,
    kernel_thread: Option<u32>,
    name: Option<String>,
    share: f64,
    allocated: Quantity,
    live_at_end: Quantity,
    freed_by_others: Quantity,
    freed_for_others: Quantity,
}
