//! What a trace does that goes on for months: it rests, and goes on in another file.

use std::io;

use lifetrace_trace::ids::AllocationId;
use rustc_hash::FxHashSet;

use super::Assembler;

impl Assembler {
    /// Nothing has been born for some time.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn rest(&mut self) -> io::Result<()> {
        self.sink.rest()
    }

    /// Goes on in another file, if it is time. Of blocks that are unknown there nothing more is told.
    pub(crate) fn renew_if_due(&mut self) {
        if !self.sink.is_renewal_due() {
            return;
        }
        let time = self.anchor.wall(self.last_time);
        let blocks = self.live.values().chain(self.mapped.values());
        let mut living: FxHashSet<AllocationId> = blocks.copied().collect();
        self.sink.renew(time, &mut living);
        self.live.retain(|_, id| !living.contains(id));
        self.mapped.retain(|_, id| !living.contains(id));
        self.last_stream = None;
    }
}
