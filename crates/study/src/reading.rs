//! Reads a whole trace into what reports are made of.

use std::path::Path;

use anyhow::Context;
use lifetrace_analysis::resident::{Moment, Resident};
use lifetrace_analysis::select::Admission;
use lifetrace_analysis::{Observer, Profile};
use lifetrace_trace::fact::{Counters, Fact};
use lifetrace_trace::ids::{Bytes, Timestamp};
use lifetrace_trace::record::{Record, RecordKind};

use crate::damages::Damages;
use crate::facts::Facts;
use crate::open::{Backtraces, Trace};
use crate::origin::Origin;
use crate::sieve::LABEL;
use crate::watch::Watch;

/// A trace that has been read to its end, or as far as possible.
pub struct Reading {
    /// Still knows the names of frames.
    pub trace: Trace,
    /// What was allocated and what lives, by backtrace.
    pub profile: Profile,
    /// What it tells beside events.
    pub facts: Facts,
    /// The whole process's memory, beside what was admitted.
    pub resident: Resident,
    /// What of it could not be read.
    pub damages: Damages,
}

impl Reading {
    /// Of a trace of which nothing has been read but what it says about itself.
    ///
    /// # Errors
    /// If its samples mean nothing.
    pub fn begin(trace: Trace, admission: &Admission) -> anyhow::Result<Self> {
        let profile = Profile::new(trace.info());
        let profile =
            profile.with_context(|| format!("{}: cannot be analysed", trace.path.display()))?;
        let mut profile = profile.in_old_heap(admission.is_in_old_heap());
        if !admission.is_all() {
            profile.choose_some();
        }
        let (facts, resident) = (Facts::default(), Resident::default());
        Ok(Self { trace, profile, facts, resident, damages: Damages::default() })
    }

    /// Takes the record that the trace has just told, if it is admitted, and tells an observer of it as well.
    pub fn take(
        &mut self,
        record: Record,
        admission: &mut Admission,
        observer: &mut impl Observer,
    ) {
        let Self { trace, profile, facts, resident, .. } = self;
        if let RecordKind::Fact(fact) = &record.kind {
            admission.learn(fact);
        }
        let admits = |block: &_, tree: &_| admission.admits(block, tree, trace);
        profile.take_beside(&record, trace.backtrace(), admits, observer);
        match record.kind {
            RecordKind::Fact(fact) => {
                if let Fact::Counters(counters) = &*fact {
                    note_counters(record.time, counters, facts, profile, resident);
                }
                facts.take(*fact);
            }
            RecordKind::Birth(birth) => facts.note_birth(&birth),
            RecordKind::Promotion(_) | RecordKind::Collection(_) => {}
        }
    }

    /// To be called when the trace has no more to tell.
    pub fn finish(&mut self) {
        if self.facts.labels.contains_key(LABEL) {
            self.profile.choose_some();
        }
        self.profile.finish(self.trace.end_time());
        self.damages = self.trace.damages();
    }

    /// Where it comes from, if that is another profiler.
    pub fn origin(&self) -> Origin {
        Origin::of(&self.facts)
    }
}

/// Reads a trace.
///
/// # Errors
/// If it cannot be opened, or its samples mean nothing. Damage further on is no error.
pub fn read(path: &Path, backtraces: Backtraces, watch: Watch) -> anyhow::Result<Reading> {
    read_admitted(Trace::open(path, backtraces)?, Admission::all(), watch)
}

/// Reads what is admitted of a trace that is open already. Facts are those of the whole trace.
///
/// # Errors
/// If its samples mean nothing. Damage further on is no error.
pub fn read_admitted(
    trace: Trace,
    mut admission: Admission,
    watch: Watch,
) -> anyhow::Result<Reading> {
    let mut reading = Reading::begin(trace, &admission)?;
    let _shown = watch(reading.trace.progress(), reading.trace.file_bytes)?;
    while let Some(record) = reading.trace.next_record() {
        reading.take(record, &mut admission, &mut ());
    }
    reading.finish();
    Ok(reading)
}

/// Keeps what the system counts, and what lives meanwhile.
fn note_counters(
    time: Timestamp,
    counters: &Counters,
    facts: &Facts,
    profile: &Profile,
    resident: &mut Resident,
) {
    let Some(Bytes(bytes)) = counters.resident else { return };
    let word_bytes = profile.replay().sampling().word_bytes();
    let words = facts.collector.as_ref().and_then(|it| it.heap_words);
    let allocator = counters.allocator_held.zip(counters.allocator_in_use);
    resident.push(Moment {
        time: profile.replay().since_start(time),
        resident: bytes,
        live: profile.live_bytes(),
        heap: words.map(|words| words.saturating_mul(word_bytes)),
        allocator: allocator.map(|(held, in_use)| (held.0, in_use.0)),
    });
}
