//! What a look has found, as facts: the blocks of each holder together.

use std::collections::BTreeMap;

use lifetrace_trace::fact::{self, Held};
use lifetrace_trace::ids::AllocationId;
use lifetrace_transport::message::SampleId;
use rustc_hash::FxHashMap;

use crate::lost::{Found, Holder, Verdict};

/// Of samples that are not in the trace nothing is told.
pub(super) fn facts(found: &Found, live: &FxHashMap<SampleId, AllocationId>) -> Vec<Held> {
    let mut blocks: BTreeMap<fact::Holder, Vec<AllocationId>> = BTreeMap::new();
    for (candidate, verdict) in &found.verdicts {
        if let Some(&id) = live.get(&candidate.sample) {
            blocks.entry(holder(verdict, live)).or_default().push(id);
        }
    }
    blocks.into_iter().flat_map(|(by, blocks)| split(&by, blocks)).collect()
}

fn holder(verdict: &Verdict, live: &FxHashMap<SampleId, AllocationId>) -> fact::Holder {
    let holder = match verdict {
        Verdict::Lost => return fact::Holder::Nothing,
        Verdict::LostWithOthers => return fact::Holder::Lost,
        Verdict::Held(holder) => holder,
    };
    match holder {
        Holder::Global(name) => fact::Holder::Variable(name.clone()),
        Holder::Sample(sample) => {
            live.get(sample).map_or(fact::Holder::Memory, |&id| fact::Holder::Block(id))
        }
        Holder::Kernel => fact::Holder::Kernel,
        Holder::Thread(name) => fact::Holder::Thread(name.clone()),
        Holder::File(path) => fact::Holder::File(path.clone()),
        Holder::Heap => fact::Holder::Memory,
    }
}

/// Into facts of a length that readers expect.
fn split(by: &fact::Holder, mut blocks: Vec<AllocationId>) -> Vec<Held> {
    blocks.sort_unstable();
    let held = |blocks: &[AllocationId]| Held { by: by.clone(), blocks: blocks.to_vec() };
    blocks.chunks(Held::MOST).map(held).collect()
}
