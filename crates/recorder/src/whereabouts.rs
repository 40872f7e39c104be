//! Where the sampled blocks of a session are that live.
//!
//! Rings are drained one after the other, so a block's end, or its move, may be heard before what came earlier. What
//! comes out of order is known until all have been drained.

use lifetrace_transport::message::{Body, Message, MonotonicNanos, Place, SampleId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::lost::Candidate;

/// Where the blocks are.
#[derive(Debug, Default)]
pub(crate) struct Whereabouts {
    places: FxHashMap<SampleId, Place>,
    /// Those that were placed since the rings were empty, and when.
    moved: FxHashMap<SampleId, MonotonicNanos>,
    /// Those whose end was heard since the rings were empty.
    ended: FxHashSet<SampleId>,
}

impl Whereabouts {
    pub(crate) fn take(&mut self, message: &Message<'_>) {
        match message.body {
            Body::Placed { id, block } => self.place(id, block, message.time),
            Body::Release { id } => {
                self.places.remove(&id);
                self.ended.insert(id);
            }
            _ => {}
        }
    }

    fn place(&mut self, id: SampleId, place: Place, time: MonotonicNanos) {
        let is_old = self.moved.get(&id).is_some_and(|&moved| moved > time);
        if !is_old && !self.ended.contains(&id) {
            self.moved.insert(id, time);
            self.places.insert(id, place);
        }
    }

    /// Everything that was told before this has been taken in.
    pub(crate) fn settle(&mut self) {
        self.moved.clear();
        self.ended.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// All of them.
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        let candidate = |(&sample, place): (&SampleId, &Place)| Candidate {
            sample,
            address: place.address(),
            size: place.size,
        };
        self.places.iter().map(candidate).collect()
    }

    /// Whether a block is where it was.
    pub(crate) fn has(&self, candidate: &Candidate) -> bool {
        let place = Place::new(candidate.address, candidate.size);
        self.places.get(&candidate.sample) == Some(&place)
    }
}

#[cfg(test)]
mod tests {
    use lifetrace_transport::message::ThreadId;

    use super::*;

    fn say(blocks: &mut Whereabouts, time: u64, body: Body<'_>) {
        blocks.take(&Message { time: MonotonicNanos(time), thread: ThreadId(1), body });
    }

    fn placed(id: u64, address: u64) -> Body<'static> {
        Body::Placed { id: SampleId(id), block: Place::new(address, 8) }
    }

    #[test]
    fn what_is_heard_late_changes_nothing() {
        let mut blocks = Whereabouts::default();
        say(&mut blocks, 1, placed(1, 100));
        say(&mut blocks, 9, placed(2, 300));
        say(&mut blocks, 8, placed(2, 200));
        say(&mut blocks, 7, Body::Release { id: SampleId(3) });
        say(&mut blocks, 6, placed(3, 400));
        let mut found = blocks.candidates();
        found.sort_by_key(|it| it.sample);
        let candidate = |id, address| Candidate { sample: SampleId(id), address, size: 8 };
        assert_eq!(found, [candidate(1, 100), candidate(2, 300)]);
        blocks.settle();
        say(&mut blocks, 10, placed(1, 500));
        assert!(!blocks.has(&candidate(1, 100)) && blocks.has(&candidate(1, 500)));
        say(&mut blocks, 11, Body::Release { id: SampleId(1) });
        say(&mut blocks, 12, Body::Release { id: SampleId(2) });
        assert!(blocks.is_empty());
    }
}
