//! Lives as allocation samples, and memory as counters.

use fxprof_processed_profile::{
    CounterHandle, GraphColor, ProcessHandle, Profile, ThreadHandle, Timestamp as Moment,
};
use lifetrace_analysis::history::Block;
use lifetrace_analysis::replay::{Death, Observer};
use lifetrace_pprof::whole::Carry;
use lifetrace_trace::fact::{Counters, Fact};
use lifetrace_trace::ids::{Bytes, Timestamp};
use rustc_hash::FxHashMap;

use super::frames::Stacks;
use super::marker::note;
use super::thinning::Thinning;

/// What the profiler draws as a memory track.
const MEMORY: &str = "Memory";

/// Writes what it hears into a profile.
pub struct Recording<'a> {
    profile: &'a mut Profile,
    process: ProcessHandle,
    thread: ThreadHandle,
    stacks: &'a Stacks,
    start: Timestamp,
    end: Timestamp,
    thinning: Thinning,
    carry: Carry,
    /// The bytes that a block was written with, by its number.
    sizes: FxHashMap<u64, i64>,
    live: CounterHandle,
    /// Where the trace tells it; the counter, and what it showed last.
    resident: Option<(CounterHandle, u64)>,
}

impl<'a> Recording<'a> {
    /// Of a trace that began at `start`, and whose backtraces are `stacks` of the thread.
    pub fn new(
        profile: &'a mut Profile,
        process: ProcessHandle,
        thread: ThreadHandle,
        stacks: &'a Stacks,
        start: Timestamp,
        thinning: Thinning,
    ) -> Self {
        let live = profile.add_counter(process, "live", MEMORY, "Live bytes, estimated");
        profile.set_counter_color(live, GraphColor::Orange);
        Self {
            profile,
            process,
            thread,
            stacks,
            start,
            end: start,
            thinning,
            carry: Carry::default(),
            sizes: FxHashMap::default(),
            live,
            resident: None,
        }
    }

    /// When the trace ended.
    pub fn end(&self) -> Moment {
        self.moment(self.end)
    }

    fn moment(&self, time: Timestamp) -> Moment {
        let micros = time.0.saturating_sub(self.start.0);
        Moment::from_nanos_since_reference(micros.saturating_mul(1000))
    }

    /// Adds bytes, or takes them away.
    fn change(&mut self, time: Timestamp, block: &Block, bytes: i64) {
        self.end = self.end.max(time);
        let moment = self.moment(time);
        // The profiler takes releases of address 0 for unknown ones.
        let (stack, address) = (self.stacks[&block.backtrace], block.index + 1);
        self.profile.add_allocation_sample(self.thread, moment, stack, address, bytes);
        self.profile.add_counter_sample(self.live, moment, bytes as f64, 1);
    }

    fn resident(&mut self, time: Timestamp, Bytes(bytes): Bytes) {
        let Self { profile, process, .. } = self;
        let (counter, before) = self.resident.unwrap_or_else(|| {
            let text = "Resident memory, exact";
            let counter = profile.add_counter(*process, "resident", MEMORY, text);
            profile.set_counter_color(counter, GraphColor::Grey);
            (counter, 0)
        });
        self.resident = Some((counter, bytes));
        let (moment, change) = (self.moment(time), bytes as f64 - before as f64);
        self.profile.add_counter_sample(counter, moment, change, 0);
    }
}

impl Observer for Recording<'_> {
    fn born(&mut self, block: &Block) {
        let is_shown = self.stacks.contains_key(&block.backtrace);
        if let Some(bytes) = is_shown.then(|| self.thinning.take(block)).flatten() {
            let bytes = self.carry.round(bytes);
            self.sizes.insert(block.index, bytes);
            self.change(block.born, block, bytes);
        }
    }

    fn died(&mut self, block: &Block, death: Death) {
        if let Some(bytes) = self.sizes.remove(&block.index) {
            self.change(death.time, block, -bytes);
        }
    }

    fn survived(&mut self, _block: &Block, end: Timestamp) {
        self.end = self.end.max(end);
    }

    fn fact(&mut self, time: Timestamp, fact: &Fact) {
        self.end = self.end.max(time);
        match fact {
            Fact::Counters(Counters { resident: Some(bytes), .. }) => self.resident(time, *bytes),
            Fact::Marker(text) => {
                let moment = self.moment(time);
                note(self.profile, self.thread, moment, "marker", text);
            }
            _ => {}
        }
    }
}
