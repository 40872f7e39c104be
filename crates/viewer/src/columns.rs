//! Samples as columns: births, and what becomes of them, in the order in which the trace tells it.

use std::collections::BTreeMap;

use lifetrace_analysis::Weight;
use lifetrace_analysis::history::Block;
use lifetrace_analysis::replay::{Death, Observer, Replay};
use lifetrace_study::Study;
use lifetrace_study::open::Backtraces;
use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::{ThreadId, Timestamp};
use lifetrace_trace::record::RecordKind;
use rustc_hash::FxHashMap;

use crate::clock::Gaps;
use crate::kinds::Kinds;
use crate::over_time::OverTime;
use crate::section::Section;
use crate::thinning::Thinning;
use crate::threads::Threads;

/// What is heard of a trace.
#[derive(Debug)]
pub struct Columns {
    start: Timestamp,
    births: Vec<i64>,
    /// By the numbers of the tree of backtraces.
    nodes: Vec<u32>,
    kind: Vec<u32>,
    thread: Vec<u32>,
    /// Changes before a birth, from the one before.
    changes_before: Vec<u32>,
    changes: Changes,
    /// Changes since the last birth.
    since_birth: u32,
    /// The samples that live, by the number of their births in the trace.
    living: FxHashMap<u64, Living>,
    live_bytes: f64,
    /// What the next block stands for, if the page has not all of them.
    thinned: Option<Weight>,
    /// Where blocks come from.
    pub kinds: Kinds,
    /// Who allocates and frees.
    pub threads: Threads,
    /// The process beside its blocks.
    pub over_time: OverTime,
}

#[derive(Clone, Copy, Debug)]
struct Living {
    number: u32,
    bytes: f64,
}

#[derive(Debug, Default)]
struct Changes {
    what: Vec<u32>,
    times: Vec<i64>,
    thread: Vec<u32>,
}

/// Reads the samples of a trace that stay.
///
/// # Errors
/// If it cannot be read any more.
pub fn read(study: &Study, mut thinning: Option<Thinning>) -> anyhow::Result<Columns> {
    let mut trace = study.again(Backtraces::Read)?;
    let mut replay = Replay::new(trace.info())?;
    let mut columns = Columns::new(trace.info(), replay.sampling().word_bytes());
    while let Some(record) = trace.next_record() {
        let mut stays = true;
        if let (RecordKind::Birth(birth), Some(thinning)) = (&record.kind, &mut thinning) {
            columns.thinned = thinning.draw(birth, replay.sampling());
            stays = columns.thinned.is_some();
        }
        replay.take_if(&record, trace.backtrace(), |_, _| stays, &mut columns);
    }
    replay.finish(trace.end_time(), &mut columns);
    Ok(columns)
}

impl Columns {
    fn new(info: &TraceInfo, word_bytes: u64) -> Self {
        Self {
            start: info.start_time,
            births: Vec::new(),
            nodes: Vec::new(),
            kind: Vec::new(),
            thread: Vec::new(),
            changes_before: Vec::new(),
            changes: Changes::default(),
            since_birth: 0,
            living: FxHashMap::default(),
            live_bytes: 0.0,
            thinned: None,
            kinds: Kinds::new(info),
            threads: Threads::default(),
            over_time: OverTime::new(word_bytes),
        }
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.births.len()
    }

    /// Of each node of so many, the root included, whether a sample has that backtrace.
    pub fn used_nodes(&self, nodes: usize) -> Vec<bool> {
        let mut is_used = vec![false; nodes];
        self.nodes.iter().for_each(|&node| is_used[node as usize] = true);
        is_used
    }

    /// As sections, where nodes have these numbers. Of formats without threads there are none.
    pub fn write(
        self,
        numbers: &[u32],
        has_threads: bool,
        sections: &mut BTreeMap<&'static str, Section>,
    ) {
        let Self { births, changes, .. } = self;
        let nodes: Vec<_> = self.nodes.iter().map(|&node| numbers[node as usize]).collect();
        write_gaps(&births, ["sample.gap", "sample.gap_high"], sections);
        write_gaps(&changes.times, ["change.gap", "change.gap_high"], sections);
        let columns = [
            ("sample.node", nodes),
            ("sample.kind", self.kind),
            ("sample.changes", self.changes_before),
            ("change.what", changes.what),
        ];
        sections.extend(columns.map(|(name, column)| (name, Section::narrow(&column))));
        if has_threads {
            sections.insert("sample.thread", Section::narrow(&self.thread));
            sections.insert("change.thread", Section::narrow(&changes.thread));
        }
        self.kinds.write(sections);
        self.over_time.write(sections);
    }

    fn time(&self, Timestamp(time): Timestamp) -> i64 {
        time.wrapping_sub(self.start.0) as i64
    }

    fn change(&mut self, number: u32, is_promotion: bool, time: Timestamp, thread: ThreadId) {
        self.changes.what.push(2 * number + u32::from(is_promotion));
        let (time, row) = (self.time(time), self.threads.row(thread));
        self.changes.times.push(time);
        self.changes.thread.push(row);
        self.since_birth += 1;
    }
}

fn write_gaps(
    times: &[i64],
    [low, high]: [&'static str; 2],
    sections: &mut BTreeMap<&'static str, Section>,
) {
    let gaps = Gaps::between(times);
    sections.insert(low, gaps.low);
    if !gaps.high.is_empty() {
        sections.insert(high, Section::U32(gaps.high));
    }
}

impl Observer for Columns {
    fn born(&mut self, block: &Block) {
        let weight = self.thinned.take().unwrap_or(block.weight);
        let bytes = weight.value() * block.bytes as f64;
        let number = self.births.len() as u32;
        self.births.push(self.time(block.born));
        self.nodes.push(block.backtrace.index() as u32);
        self.kind.push(self.kinds.number(block, weight));
        let thread = self.threads.row(block.thread);
        self.thread.push(thread);
        self.changes_before.push(std::mem::take(&mut self.since_birth));
        self.living.insert(block.index, Living { number, bytes });
        self.live_bytes += bytes;
    }

    fn promoted(&mut self, block: &Block) {
        if let (Some(living), Some(time)) = (self.living.get(&block.index), block.promoted) {
            self.change(living.number, true, time, block.thread);
        }
    }

    fn died(&mut self, block: &Block, death: Death) {
        if let Some(living) = self.living.remove(&block.index) {
            self.live_bytes -= living.bytes;
            self.change(living.number, false, death.time, death.thread);
        }
    }

    fn fact(&mut self, time: Timestamp, fact: &Fact) {
        match fact {
            Fact::Sampler(sampler) => self.kinds.set(sampler),
            Fact::ThreadName(name) => self.threads.name(name),
            _ => {}
        }
        let time = self.time(time);
        self.over_time.take(time, fact, self.live_bytes);
    }
}
