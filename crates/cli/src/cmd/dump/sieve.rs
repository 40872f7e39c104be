//! Of all events, those of the blocks that a filter lets through.

use lifetrace_analysis::Replay;
use lifetrace_analysis::filter::Filter;
use lifetrace_analysis::select::Admission;
use lifetrace_trace::told::{Told, What};

use crate::open::Trace;
use crate::study;
use crate::twice::Twice;

/// Knows which blocks live that were let through.
pub(super) struct Sieve {
    admission: Admission,
    replay: Replay,
}

impl Sieve {
    /// # Errors
    /// If it is no trace, or nothing can be estimated from it, or it does not tell what the filter
    /// needs.
    pub(super) fn new(input: &Twice, filter: &Filter, trace: &Trace) -> anyhow::Result<Self> {
        let replay = Replay::new(trace.info())?;
        Ok(Self { admission: study::admission(input, filter)?, replay })
    }

    /// Whether what the trace has just told is let through. Facts are.
    pub(super) fn keeps(&mut self, told: &Told, trace: &Trace) -> bool {
        let Self { admission, replay } = self;
        let lived = match &told.what {
            What::Promotion(id) | What::Collection(id) => replay.history().has(*id),
            What::Birth(_) => false,
            What::Fact(fact) => {
                admission.learn(fact);
                true
            }
        };
        let admits = |block: &_, tree: &_| admission.admits(block, tree, trace);
        replay.take_if(told, trace.backtrace(), admits, &mut ());
        match &told.what {
            What::Birth(birth) => replay.history().has(birth.id),
            _ => lived,
        }
    }
}
