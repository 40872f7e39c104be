//! At which rate samples of malloc's were drawn, where that changes in the midst of a session.
//!
//! Each thread changes at its own time, and says so before its first sample of the new rate. A trace says of all samples
//! that follow how they were drawn; so where two threads are of different rates it says so at each turn, for as long as
//! it takes the slower one to its next sample.

use std::io;

use lifetrace_trace::fact::Fact;
use lifetrace_transport::message::{Message, ThreadId};
use rustc_hash::FxHashMap;

use super::Assembler;

/// The rates of threads.
#[derive(Debug, Default)]
pub(super) struct ThreadRates {
    /// The probability of a word; of threads that are not here it is that of the settings.
    changed: FxHashMap<ThreadId, f64>,
}

impl ThreadRates {
    /// A thread has begun, or ended.
    pub(super) fn remove(&mut self, thread: ThreadId) {
        self.changed.remove(&thread);
    }
}

impl Assembler {
    /// What a thread samples from now on was drawn at this rate.
    pub(super) fn take_rate(&mut self, thread: ThreadId, bits: u64) {
        self.rates.changed.insert(thread, f64::from_bits(bits));
    }

    /// The trace says of what follows that it was drawn at the rate of the message's thread.
    pub(super) fn follow_rate(&mut self, message: &Message<'_>) -> io::Result<()> {
        let changed = self.rates.changed.get(&message.thread).copied();
        let Some(rate) = changed.or(self.first_rate) else { return Ok(()) };
        if self.samplers.malloc_rate() == Some(rate) {
            return Ok(());
        }
        let mut told = self.samplers.change_rate(rate).into_iter();
        told.try_for_each(|sampler| self.fact(message.time, &Fact::Sampler(sampler)))
    }

    /// Bytes that a hit of malloc's stands for where that is most.
    pub(crate) fn longest_interval(&self) -> Option<f64> {
        self.samplers.longest_interval()
    }
}
