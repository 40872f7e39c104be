//! Reads a whole trace into what reports are made of.

use std::path::Path;

use anyhow::Context;
use lifetrace_analysis::Profile;
use lifetrace_analysis::resident::{Moment, Resident};
use lifetrace_analysis::select::Admission;
use lifetrace_trace::fact::{Counters, Fact};
use lifetrace_trace::ids::{Bytes, Timestamp};
use lifetrace_trace::record::RecordKind;

use crate::damages::Damages;
use crate::facts::Facts;
use crate::open::{Backtraces, Trace};
use crate::origin::Origin;
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
    mut trace: Trace,
    mut admission: Admission,
    watch: Watch,
) -> anyhow::Result<Reading> {
    let profile = Profile::new(trace.info());
    let mut profile =
        profile.with_context(|| format!("{}: cannot be analysed", trace.path.display()))?;
    profile = profile.in_old_heap(admission.is_in_old_heap());
    let _shown = watch(trace.progress(), trace.file_bytes)?;
    let (mut facts, mut resident) = (Facts::default(), Resident::default());
    while let Some(record) = trace.next_record() {
        if let RecordKind::Fact(fact) = &record.kind {
            admission.learn(fact);
        }
        let admits = |block: &_, tree: &_| admission.admits(block, tree, &trace);
        profile.take_if(&record, trace.backtrace(), admits);
        match record.kind {
            RecordKind::Fact(fact) => {
                if let Fact::Counters(counters) = &*fact {
                    note_counters(record.time, counters, &facts, &profile, &mut resident);
                }
                facts.take(*fact);
            }
            RecordKind::Birth(birth) => facts.note_birth(&birth),
            RecordKind::Promotion(_) | RecordKind::Collection(_) => {}
        }
    }
    profile.finish(trace.end_time());
    let damages = trace.damages();
    Ok(Reading { trace, profile, facts, resident, damages })
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
