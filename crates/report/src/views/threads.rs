//! Who allocates, and who frees what others allocated.

use lifetrace_analysis::Sampling;
use lifetrace_analysis::threads::{ThreadReport, Threads as Observed};
use lifetrace_human as human;
use lifetrace_study::Study;
use serde::Serialize;

use super::Render;
use crate::Options;
use crate::amounts::{Quantity, bytes_or_none};
use crate::page::Page;
use crate::style::{FAINT, STRONG};
use crate::table::{Cell, Column, Table, Tail};

/// Who allocates, and who frees what others allocated: the document of the view.
#[derive(Debug, Serialize)]
pub struct Threads {
    threads_total: usize,
    /// The first of them, by bytes allocated.
    threads: Vec<Thread>,
    #[serde(skip)]
    sampling: Sampling,
    #[serde(skip)]
    has_threads: bool,
}

#[derive(Debug, Serialize)]
struct Thread {
    thread: u32,
    kernel_thread: Option<u32>,
    name: Option<String>,
    share: f64,
    allocated: Quantity,
    live_at_end: Quantity,
    freed_by_others: Quantity,
    freed_for_others: Quantity,
}

impl Threads {
    /// Finds the answer in a trace.
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &Study, options: &Options) -> anyhow::Result<Self> {
        let mut observed = Observed::default();
        study.replay(&mut observed)?;
        let (summary, all) = (study.reading.profile.summary(), observed.report());
        let total = summary.allocated.bytes.value;
        Ok(Self {
            threads_total: all.len(),
            threads: all.into_iter().take(options.top).map(|it| Thread::new(it, total)).collect(),
            sampling: summary.sampling,
            has_threads: study.reading.trace.has_facts(),
        })
    }

    fn row(&self, thread: &Thread) -> [Cell; 8] {
        let bytes = |amount: &Quantity| bytes_or_none(&amount.0, &self.sampling);
        let name = thread.name.as_deref().unwrap_or_default();
        let os_id = thread.kernel_thread.map(|id| id.to_string()).unwrap_or_default();
        [
            thread.thread.to_string(),
            os_id,
            name.to_owned(),
            human::percent(thread.share),
            bytes(&thread.allocated),
            bytes(&thread.live_at_end),
            bytes(&thread.freed_by_others),
            bytes(&thread.freed_for_others),
        ]
        .map(Cell::from)
    }
}

impl Thread {
    /// Of one that has allocated a part of so many bytes.
    fn new(thread: ThreadReport, total: f64) -> Self {
        Self {
            thread: thread.id.0,
            kernel_thread: thread.os_id,
            name: thread.name.as_deref().map(str::to_owned),
            share: if total > 0.0 { thread.allocated.bytes.value / total } else { 0.0 },
            allocated: Quantity(thread.allocated),
            live_at_end: Quantity(thread.live),
            freed_by_others: Quantity(thread.freed_by_others),
            freed_for_others: Quantity(thread.freed_for_others),
        }
    }
}

impl Render for Threads {
    fn render(&self, page: &mut Page) {
        if !self.has_threads {
            page.prose("", FAINT, "The trace's format has no room for threads.");
            return;
        }
        let (shown, all) = (self.threads.len(), self.threads_total);
        let heading = format!("{shown} of {all} threads by bytes allocated");
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
        for thread in &self.threads {
            table.row(self.row(thread), Tail::None);
        }
        page.table(&table);
    }
}
