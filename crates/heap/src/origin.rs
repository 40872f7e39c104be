//! Where a snapshot comes from, and what else it tells.

use lifetrace_snapshot::graph::BlockId;
use lifetrace_snapshot::lth::Snapshot;
use lifetrace_trace::lth::{Header, Outcome, Sample, Site, Totals};

/// A figure of snapshots that were made from another program's dump: references to what that does not have.
pub const MISSING: &str = "missing references";

/// Where a snapshot comes from, and what else it tells.
#[derive(Clone, Debug)]
pub struct Origin {
    /// What it says about itself.
    pub header: Header,
    /// How making it went, and how much is in it, if it was finished.
    pub outcome: Option<(Outcome, Totals)>,
    /// Where sampled blocks were allocated.
    pub sites: Vec<Site>,
    /// Sampled blocks.
    pub samples: Vec<(Sample, Option<BlockId>)>,
}

impl Origin {
    pub(crate) fn of(snapshot: &Snapshot) -> Origin {
        Origin {
            header: snapshot.header.clone(),
            outcome: snapshot.outcome.clone(),
            sites: snapshot.sites.clone(),
            samples: snapshot.samples.clone(),
        }
    }

    /// Whether it was made from another program's dump, which tells of references only, and of no other fields.
    pub fn is_import(&self) -> bool {
        &*self.header.cause == "import"
    }

    /// What of the heap is not in the snapshot, if there is anything, and why.
    pub(crate) fn lacks(&self) -> Option<String> {
        match &self.outcome {
            None => Some(
                "has no end: whoever wrote it was interrupted, and blocks are missing".to_owned(),
            ),
            Some((Outcome { gave_up: Some(why), .. }, _)) => {
                Some(format!("not all of the heap is in it: {why}"))
            }
            Some(_) => None,
        }
    }

    /// What is known exactly beside the graph, by its name.
    pub fn figure(&self, name: &str) -> Option<u64> {
        let (outcome, _) = self.outcome.as_ref()?;
        outcome.figures.iter().find(|(known, _)| **known == *name).map(|&(_, figure)| figure)
    }
}
