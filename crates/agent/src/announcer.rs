//! The tracker of a recording: sends messages to the recorder.

use lifetrace_transport::message::{Body, SampleId};

use crate::guard::Entered;
use crate::phase;
use crate::tracker::{Allocation, Tracker, Word};

/// The tracker that sends samples to the recorder. Of samples that were announced in an earlier session, before a
/// fork, it sends nothing: they are not its own.
#[derive(Clone, Copy, Debug)]
pub struct Announcer;

impl Word for SampleId {
    fn to_word(self) -> u64 {
        self.0
    }

    fn from_word(word: u64) -> Self {
        SampleId(word)
    }
}

impl Tracker for Announcer {
    type Metadata = SampleId;

    /// `None` if the recorder could not be told.
    #[inline(always)]
    fn allocated(&self, at: &mut Entered, allocation: &Allocation) -> Option<SampleId> {
        let id = SampleId(phase::next_sample());
        let Allocation { size, samples, source, kind } = *allocation;
        let announced = at.send_with_backtrace(source, |backtrace| Body::Allocation {
            id,
            size,
            samples,
            source,
            kind,
            backtrace,
        });
        announced.then_some(id)
    }

    fn promoted(&self, at: &mut Entered, block: SampleId) -> Option<SampleId> {
        if !phase::of_this_session(block.0) {
            return None;
        }
        at.send(Body::Promotion { id: block });
        Some(block)
    }

    fn freed(&self, at: &mut Entered, block: SampleId) {
        if phase::of_this_session(block.0) {
            at.send(Body::Release { id: block });
        }
    }
}
