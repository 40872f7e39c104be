//! How long the blocks of a callsite live. That is more than one keeps of all blocks, so once somebody asks, the trace is
//! read again beside the page, from its beginning; backtraces have the same nodes as in the [book].

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::history::Block;
use lifetrace_analysis::lifetimes::Lifetime;
use lifetrace_analysis::replay::{Death, since};
use lifetrace_analysis::select::Admission;
use lifetrace_analysis::statistics::{Mass, Survival};
use lifetrace_analysis::{Observer, Replay};
use lifetrace_study::choice::Choice;
use lifetrace_study::open::Trace;
use lifetrace_trace::record::{Record, RecordKind};
use rustc_hash::FxHashMap;

use crate::book;
use crate::sites::{SiteName, SiteTable};

/// So many records are taken before one looks at the time.
const RECORDS: usize = 2000;

/// A trace that is read for the lifetimes of its blocks.
pub struct Lives {
    trace: Trace,
    replay: Replay,
    admission: Admission,
    ages: Ages,
    is_whole: Arc<AtomicBool>,
    is_behind: bool,
}

/// Ages at death, by backtrace.
#[derive(Debug, Default)]
struct Ages(FxHashMap<NodeId, Survival>);

impl Observer for Ages {
    fn died(&mut self, block: &Block, death: Death) {
        let age = since(block.born, death.time).as_micros() as u64;
        self.0.entry(block.backtrace).or_default().died(age, &mass(block));
    }
}

fn mass(block: &Block) -> Mass {
    Mass::of_block(&block.tally().amount())
}

impl Lives {
    /// Begins to read a trace again.
    ///
    /// # Errors
    /// If it cannot be read any more.
    pub fn open(path: &Path, choice: &Choice) -> anyhow::Result<Option<Self>> {
        let Some((trace, is_whole)) = book::again(path)? else { return Ok(None) };
        let admission = book::admission(&choice.filter, trace.info().start_time)?;
        let replay = Replay::new(trace.info())?;
        let ages = Ages::default();
        Ok(Some(Self { trace, replay, admission, ages, is_whole, is_behind: true }))
    }

    /// Reads on until there is nothing more for now, or it is so late.
    pub fn advance(&mut self, until: Instant) {
        self.is_behind = true;
        loop {
            for _ in 0..RECORDS {
                let Some(record) = self.trace.next_record() else {
                    self.is_behind = false;
                    return;
                };
                self.take(&record);
            }
            if Instant::now() >= until {
                return;
            }
        }
    }

    /// Nobody writes the trace any more.
    pub fn close(&mut self) {
        self.is_whole.store(true, Ordering::Release);
    }

    /// Whether there is more to read.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// How many bytes of the file have been read.
    pub fn bytes_read(&self) -> u64 {
        self.trace.progress().bytes()
    }

    /// How long the blocks of a callsite live, as far as has been read.
    pub fn of(&self, table: &SiteTable, site: &SiteName) -> Lifetime {
        let mut lifetime = Lifetime::default();
        let Some(wanted) = table.find(site) else { return lifetime };
        for (&node, survival) in &self.ages.0 {
            if table.of(node) == Some(wanted) {
                lifetime.time += survival;
            }
        }
        let now = self.replay.end().max(self.trace.end_time());
        let live = self.replay.history().live().map(|(_, block)| block);
        for block in live.filter(|block| table.of(block.backtrace) == Some(wanted)) {
            let age = since(block.born, now).as_micros() as u64;
            lifetime.time.survived(age, &mass(block));
        }
        lifetime
    }

    fn take(&mut self, record: &Record) {
        if let RecordKind::Fact(fact) = &record.kind {
            self.admission.learn(fact);
        }
        let Self { trace, replay, admission, ages, .. } = self;
        let admits = |block: &_, tree: &_| admission.admits(block, tree, trace);
        replay.take_if(record, trace.backtrace(), admits, ages);
    }
}
