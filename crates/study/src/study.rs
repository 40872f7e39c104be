//! A trace that is looked at from several sides: read once for what all reports need, and again for
//! what only one of them does.

use std::path::{Path, PathBuf};

use anyhow::Context;
use lifetrace_analysis::filter::{Filter, Needs};
use lifetrace_analysis::select::{Admission, Chooser, Judge, Survey};
use lifetrace_analysis::{Observer, Profile, Replay};
use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::Timestamp;
use lifetrace_trace::record::{Record, RecordKind};

use crate::choice::Choice;
use crate::facts::Facts;
use crate::open::{Backtraces, Trace};
use crate::origin::{self, Origin};
use crate::reading::{self, Reading};
use crate::twice::Twice;
use crate::watch::Watch;

/// A trace and what has been found out about it.
pub struct Study {
    /// All that was chosen of the trace, added up.
    pub reading: Reading,
    /// What was chosen.
    pub choice: Choice,
    admission: Admission,
    input: Twice,
    watch: Watch,
}

impl Study {
    /// Reads a trace; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be opened, or its samples mean nothing, or it does not tell what the filter needs.
    /// Damage further on is no error.
    pub fn of(path: &Path, choice: Choice, watch: Watch) -> anyhow::Result<Self> {
        let input = Twice::open(path)?;
        let admission = admission(&input, &choice.filter, watch)?;
        let trace = Trace::read(input.again()?, Backtraces::Read)?;
        let reading = reading::read_admitted(trace, admission.clone(), watch)?;
        Ok(Self { reading, choice, admission, input, watch })
    }

    /// The trace from its beginning.
    ///
    /// # Errors
    /// If it cannot be read any more.
    pub fn again(&self, backtraces: Backtraces) -> anyhow::Result<Trace> {
        Trace::read(self.input.again()?, backtraces)
    }

    /// Tells an observer of all lives that were chosen. Backtraces have the nodes that they have in
    /// the [reading](Self::reading).
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn replay(&self, observer: &mut impl Observer) -> anyhow::Result<()> {
        let trace = self.again(Backtraces::Read)?;
        replay(trace, self.admission.clone(), observer, self.watch).map(drop)
    }
}

/// Tells an observer of all lives that are admitted.
///
/// # Errors
/// If nothing can be estimated from the trace.
pub fn replay(
    mut trace: Trace,
    mut admission: Admission,
    observer: &mut impl Observer,
    watch: Watch,
) -> anyhow::Result<Trace> {
    let _shown = watch(trace.progress(), trace.file_bytes)?;
    let mut replay = Replay::new(trace.info())?.in_old_heap(admission.is_in_old_heap());
    while let Some(record) = trace.next_record() {
        if let RecordKind::Fact(fact) = &record.kind {
            admission.learn(fact);
        }
        let admits = |block: &_, tree: &_| admission.admits(block, tree, &trace);
        replay.take_if(&record, trace.backtrace(), admits, observer);
    }
    replay.finish(trace.end_time(), observer);
    Ok(trace)
}

/// Which blocks a filter lets through; reads the trace as often as that needs.
///
/// # Errors
/// If it is no trace, or does not tell what the filter needs.
pub fn admission(input: &Twice, filter: &Filter, watch: Watch) -> anyhow::Result<Admission> {
    if filter.is_empty() {
        return Ok(Admission::all());
    }
    refuse_filter(input, filter)?;
    let needs = filter.needs();
    let surveyed = Surveyed::of(input, &needs, watch)?;
    let labels = surveyed.facts.labels.iter();
    if !filter.matches_labels(labels.map(|(key, value)| (&**key, &**value))) {
        return Ok(Admission::none());
    }
    let Surveyed { survey, end, peak, .. } = surveyed;
    let trace = Trace::read(input.again()?, Backtraces::Skip)?;
    let start = trace.info().start_time;
    let judge = Judge::new(filter, survey, start, [end, peak], trace.has_facts())?;
    if !needs.death && !needs.promotion {
        return Ok(Admission::by_birth(judge, filter));
    }
    let mut chooser = Chooser::new(judge);
    replay(trace, Admission::all(), &mut chooser, watch)?;
    Ok(Admission::of_chosen(chooser, filter))
}

/// # Errors
/// If the trace is an import that does not tell what the filter is about, or no trace.
fn refuse_filter(input: &Twice, filter: &Filter) -> anyhow::Result<()> {
    let needs = origin::of_filter(filter);
    if needs.is_empty() {
        return Ok(());
    }
    let (origin, path) = origin_of(input)?;
    origin.refuse(&path, &format!("the filter '{filter}'"), &needs)
}

/// Where a trace comes from: what it says before the first block. Also its name.
///
/// # Errors
/// If it is no trace.
pub fn origin_of(input: &Twice) -> anyhow::Result<(Origin, PathBuf)> {
    let mut trace = Trace::read(input.again()?, Backtraces::Skip)?;
    let mut facts = Facts::default();
    while let Some(Record { kind: RecordKind::Fact(fact), .. }) = trace.next_record() {
        facts.take(*fact);
    }
    Ok((Origin::of(&facts), trace.path))
}

/// What is known of the whole trace before it is judged; empty if nobody needs it.
#[derive(Default)]
struct Surveyed {
    survey: Survey,
    facts: Facts,
    end: Option<Timestamp>,
    peak: Option<Timestamp>,
}

impl Surveyed {
    fn of(input: &Twice, needs: &Needs, watch: Watch) -> anyhow::Result<Self> {
        let Needs { end, peak, clock, thread_name, labels, .. } = *needs;
        let mut surveyed = Self::default();
        if !(end || peak || clock || thread_name || labels) {
            return Ok(surveyed);
        }
        let mut trace = Trace::read(input.again()?, Backtraces::Skip)?;
        let _shown = watch(trace.progress(), trace.file_bytes)?;
        let profile = Profile::new(trace.info());
        let mut profile =
            profile.with_context(|| format!("{}: cannot be analysed", trace.path.display()))?;
        while let Some(record) = trace.next_record() {
            profile.take(&record, &[]);
            if let RecordKind::Fact(fact) = record.kind {
                surveyed.learn(record.time, *fact);
            }
        }
        surveyed.end = Some(trace.end_time());
        surveyed.peak = Some(profile.peak_time());
        Ok(surveyed)
    }

    fn learn(&mut self, time: Timestamp, fact: Fact) {
        self.survey.fact(time, &fact);
        self.facts.take(fact);
    }
}
