//! A trace that is read while it is written: all that `report` knows of it, as far as it goes, and what moved of late.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use lifetrace_analysis::Observer;
use lifetrace_analysis::account::Balance;
use lifetrace_analysis::call_tree::{CallTree, NodeId};
use lifetrace_analysis::filter::{Filter, View};
use lifetrace_analysis::history::Block;
use lifetrace_analysis::replay::Death;
use lifetrace_analysis::select::{Admission, Judge, Survey};
use lifetrace_analysis::summary::Summary;
use lifetrace_study::Reading;
use lifetrace_study::accounts::Accounts;
use lifetrace_study::choice::Choice;
use lifetrace_study::open::Trace;
use lifetrace_study::origin::Origin;
use lifetrace_trace::fact::{Counters, Fact};
use lifetrace_trace::ids::Timestamp;
use lifetrace_trace::record::RecordKind;

use crate::moved::{Since, Windows};
use crate::sites::SiteTable;

/// So many records are taken before one looks at the time.
const RECORDS: usize = 2000;

/// Page faults are counted over this time, in microseconds.
const FAULTS: u64 = 10_000_000;

/// A trace that is being written.
pub struct Book {
    reading: Reading,
    choice: Choice,
    admission: Admission,
    /// What the filter says of labels has been looked at: they are told before the first block.
    has_labels: bool,
    moving: Moving,
    /// How many have been read.
    records: u64,
    is_whole: Arc<AtomicBool>,
    is_finished: bool,
}

/// What an observer keeps beside the accounts.
#[derive(Debug)]
struct Moving {
    windows: Windows,
    /// What came and went since somebody marked a moment.
    mark: Option<Since>,
    /// Where the mark is to be, if reading has not come so far.
    mark_at: Option<Mark>,
    usage: Usage,
}

/// A moment of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub time: Timestamp,
    /// How many records were told before.
    records: u64,
}

/// What the system counts.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    last: Option<(Timestamp, Counters)>,
    /// Page faults, of late.
    faults: VecDeque<(Timestamp, u64)>,
}

impl Usage {
    /// Bytes of resident memory.
    pub fn resident(&self) -> Option<u64> {
        self.last.and_then(|(_, counters)| counters.resident).map(|bytes| bytes.0)
    }

    /// Page faults a second, of late.
    pub fn faults_per_second(&self) -> Option<f64> {
        let ((from, before), (to, after)) = (self.faults.front()?, self.faults.back()?);
        let seconds = to.0.saturating_sub(from.0) as f64 / 1e6;
        (seconds > 0.0).then(|| after.saturating_sub(*before) as f64 / seconds)
    }

    fn take(&mut self, time: Timestamp, counters: &Counters) {
        self.last = Some((time, *counters));
        if let (Some(minor), Some(major)) = (counters.minor_faults, counters.major_faults) {
            self.faults.push_back((time, minor.saturating_add(major)));
        }
        let is_old = |&(then, _): &(Timestamp, u64)| time.0.saturating_sub(then.0) > FAULTS;
        while self.faults.front().is_some_and(is_old) {
            self.faults.pop_front();
        }
    }
}

impl Moving {
    /// So many records and births were told before one of that time.
    fn pass(&mut self, now: Timestamp, records: u64, births: u64) {
        self.windows.pass(now, births);
        if let Some(mark) = self.mark_at.take_if(|mark| mark.records <= records) {
            self.mark = Some(Since::new(mark.time, births));
        }
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Since> {
        self.windows.all_mut().chain(&mut self.mark)
    }
}

impl Observer for Moving {
    fn born(&mut self, block: &Block) {
        self.all_mut().for_each(|since| since.born(block));
    }

    fn died(&mut self, block: &Block, _death: Death) {
        self.all_mut().for_each(|since| since.died(block));
    }

    fn fact(&mut self, time: Timestamp, fact: &Fact) {
        if let Fact::Counters(counters) = fact {
            self.usage.take(time, counters);
        }
    }
}

/// Whether a filter can be judged when a block is born, which is all that is known of one that lives.
///
/// # Errors
/// If it cannot, in words.
pub fn check(filter: &Filter) -> Result<(), String> {
    let needs = filter.needs();
    let why = match () {
        () if needs.death => "whether and when a block is freed is not known while it lives",
        () if needs.promotion => "what is promoted is not known when it is born",
        () if needs.end || needs.peak => {
            "the end and the peak are not known while the program runs"
        }
        () if needs.clock => {
            "dates are known when the trace is finished; times since the start are now"
        }
        () if needs.thread_name => "threads have their names late; their numbers are known now",
        () => return Ok(()),
    };
    Err(format!("the filter '{filter}' cannot be judged here: {why} (report can, of the trace)"))
}

impl Book {
    /// Opens a trace that is being written; nothing if not even its beginning is there yet. `mark` is a moment since
    /// which changes are to be known.
    ///
    /// # Errors
    /// If it is no `.lt` trace, or its samples mean nothing.
    pub fn open(path: &Path, choice: &Choice, mark: Option<Mark>) -> anyhow::Result<Option<Self>> {
        let is_whole = Arc::new(AtomicBool::new(false));
        let Some(trace) = Trace::follow(path, &is_whole)? else { return Ok(None) };
        let start = trace.info().start_time;
        let admission = admission(&choice.filter, start)?;
        let usage = Usage::default();
        let moving = Moving { windows: Windows::new(start), mark: None, mark_at: mark, usage };
        Ok(Some(Self {
            reading: Reading::begin(trace, &admission)?,
            choice: choice.clone(),
            admission,
            has_labels: false,
            moving,
            records: 0,
            is_whole,
            is_finished: false,
        }))
    }

    /// Reads on until there is nothing more for now, or it is so late; says whether there is nothing more.
    pub fn advance(&mut self, until: Instant) -> bool {
        while !self.is_finished {
            for _ in 0..RECORDS {
                if !self.step() {
                    self.finish_if_whole();
                    return true;
                }
            }
            if Instant::now() >= until {
                return false;
            }
        }
        true
    }

    /// The trace has all that it will ever have: nobody writes it any more.
    pub fn close(&mut self) {
        self.is_whole.store(true, Ordering::Release);
    }

    /// Whether all has been read that there will ever be.
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// From now on changes are known since what was read last.
    pub fn mark(&mut self) -> Mark {
        let mark = Mark { time: self.now(), records: self.records };
        self.moving.mark = Some(Since::new(mark.time, self.reading.profile.replay().births()));
        mark
    }

    /// Nobody wants to know any more what changed since the mark.
    pub fn unmark(&mut self) {
        (self.moving.mark, self.moving.mark_at) = (None, None);
    }

    /// Adds what came and went to the callsites that are known.
    pub fn settle(&mut self, sites: &SiteTable) {
        let Moving { windows, mark, .. } = &mut self.moving;
        let shown = std::iter::once(windows.oldest_mut()).chain(mark);
        shown.for_each(|since| since.settle(sites));
    }

    /// What came and went of late.
    pub fn recent(&self) -> &Since {
        self.moving.windows.oldest()
    }

    /// What came and went since the mark, if there is one.
    pub fn marked(&self) -> Option<&Since> {
        self.moving.mark.as_ref()
    }

    /// What the system counts of the process.
    pub fn usage(&self) -> &Usage {
        &self.moving.usage
    }

    /// What has been read.
    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    /// What of it is looked at.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// The last time that was read.
    pub fn now(&self) -> Timestamp {
        self.reading.trace.end_time().max(self.reading.profile.replay().end())
    }

    /// How many bytes of the file have been read.
    pub fn bytes_read(&self) -> u64 {
        self.reading.trace.progress().bytes()
    }

    fn step(&mut self) -> bool {
        let Some(record) = self.reading.trace.next_record() else { return false };
        if !self.has_labels && matches!(record.kind, RecordKind::Birth(_)) {
            self.look_at_labels();
        }
        let births = self.reading.profile.replay().births();
        self.moving.pass(record.time, self.records, births);
        self.records += 1;
        self.reading.take(record, &mut self.admission, &mut self.moving);
        true
    }

    fn look_at_labels(&mut self) {
        self.has_labels = true;
        let labels = self.reading.facts.labels.iter();
        if !self.choice.filter.matches_labels(labels.map(|(key, value)| (&**key, &**value))) {
            self.admission = Admission::none();
        }
    }

    fn finish_if_whole(&mut self) {
        let is_complete = self.reading.trace.is_complete() == Some(true);
        if is_complete || self.is_whole.load(Ordering::Acquire) {
            self.is_finished = true;
        }
    }
}

/// Which blocks a filter lets through, as far as it can be said when they are born.
pub(crate) fn admission(filter: &Filter, start: Timestamp) -> anyhow::Result<Admission> {
    check(filter).map_err(anyhow::Error::msg)?;
    if filter.is_empty() {
        return Ok(Admission::all());
    }
    let judge = Judge::new(filter, Survey::default(), start, [None, None], true)?;
    Ok(Admission::by_birth(judge, filter))
}

/// A trace from its beginning, and where to say that it is whole.
///
/// # Errors
/// If it cannot be read any more.
pub(crate) fn again(path: &Path) -> anyhow::Result<Option<(Trace, Arc<AtomicBool>)>> {
    let is_whole = Arc::new(AtomicBool::new(false));
    Ok(Trace::follow(path, &is_whole)?.map(|trace| (trace, is_whole)))
}

impl Accounts for Book {
    type Names = Trace;

    fn tree(&self) -> &CallTree {
        self.reading.profile.tree()
    }

    fn names(&self) -> &Trace {
        &self.reading.trace
    }

    fn balances(&self) -> impl Iterator<Item = (NodeId, Balance)> {
        self.reading.profile.balances()
    }

    fn summary(&self) -> Summary {
        self.reading.profile.summary()
    }

    fn origin(&self) -> Origin {
        self.reading.origin()
    }

    fn view(&self) -> &View {
        &self.choice.view
    }
}
