//! Of all that a trace tells, what is about the blocks that a filter lets through.
//!
//! Of a block all is let through or nothing. What is about no block (facts, but for a block's new
//! size) always is; what is about a block that was never born never.

use lifetrace_analysis::select::Admission;
use lifetrace_analysis::{Names, Replay};
use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::LocationCode;
use lifetrace_trace::record::{Record, RecordKind};

/// The label of a trace of some blocks, whose value is the filter that has chosen them.
pub const LABEL: &str = "slice.filter";

/// Knows which blocks live that were let through.
pub struct Sieve {
    admission: Admission,
    replay: Replay,
}

impl Sieve {
    /// Of a trace of which nothing has been read, and that says `info` about itself.
    ///
    /// # Errors
    /// If nothing can be estimated from it.
    pub fn new(admission: Admission, info: &TraceInfo) -> anyhow::Result<Self> {
        Ok(Self { admission, replay: Replay::new(info)? })
    }

    /// Whether what has just been told is let through; to be asked of all that is.
    pub fn keeps(
        &mut self,
        record: &Record,
        backtrace: &[LocationCode],
        names: &impl Names,
    ) -> bool {
        let Self { admission, replay } = self;
        let lived = match &record.kind {
            RecordKind::Promotion(id) | RecordKind::Collection(id) => replay.history().has(*id),
            RecordKind::Fact(fact) => match &**fact {
                Fact::Resize(resize) => replay.history().has(resize.id),
                fact => {
                    admission.learn(fact);
                    true
                }
            },
            RecordKind::Birth(_) => false,
        };
        let mut is_admitted = false;
        let admits = |block: &_, tree: &_| {
            is_admitted = admission.admits(block, tree, names);
            is_admitted
        };
        replay.take_if(record, backtrace, admits, &mut ());
        lived || is_admitted
    }
}
