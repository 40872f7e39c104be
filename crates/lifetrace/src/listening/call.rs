//! The samples of one call of the allocator.

use std::cell::RefCell;
use std::time::Instant;

use lifetrace_agent::announcer::Announcer;
use lifetrace_agent::guard::{self, Entered};
use lifetrace_agent::phase::Start;
use lifetrace_agent::tracker::{self, Tracker};
use lifetrace_agent::{phase, sys};
use lifetrace_native::sample::SampleListener;
use lifetrace_transport::message::{AllocationKind, SampleId};

use super::{Event, listener};
use crate::backtrace::Backtrace;
use crate::external::kinds;
use crate::hooks::aside;
use crate::snapshot::Amount;
use crate::tracker::{Allocation, Source};

/// Observes one call of the allocator: reports samples to the recorder at once, and to the program's tracker when it
/// is dropped: then the call is over but for its return.
#[derive(Debug)]
pub(crate) struct CallListener {
    events: RefCell<Vec<Event>>,
    /// Frames up to here are ours.
    own_stack: u64,
}

impl CallListener {
    /// To be made in the outermost function that is not to be seen in backtraces.
    #[inline(always)]
    pub(crate) fn new() -> CallListener {
        CallListener { events: RefCell::default(), own_stack: sys::stack_pointer() }
    }

    fn died(&self, sample: SampleId) {
        if super::IS_LISTENING.load(super::Ordering::Relaxed) {
            self.note(|| Event::Died(sample, Instant::now()));
        }
    }

    fn note(&self, event: impl FnOnce() -> Event) {
        aside(|| self.events.borrow_mut().push(event()));
    }
}

impl SampleListener for CallListener {
    /// Nothing starts by itself here.
    fn start(&self, start: Start) {
        start.finish(false);
    }

    fn tracker(&self) -> impl Tracker<Metadata = SampleId> {
        self
    }

    fn died_unreported(&self, sample: SampleId) {
        guard::count_lost_release(sample.0);
        self.died(sample);
    }

    fn own_stack(&self) -> u64 {
        self.own_stack
    }
}

impl Tracker for &CallListener {
    type Metadata = SampleId;

    fn allocated(&self, at: &mut Entered, it: &tracker::Allocation) -> Option<SampleId> {
        let Some(listener) = listener() else { return announce(at, it) };
        let sample = match listener.is_recorded {
            true => announce(at, it)?,
            false => SampleId(phase::next_sample()),
        };
        self.note(|| Event::Born(sample, Box::new(described(at, it))));
        Some(sample)
    }

    fn promoted(&self, at: &mut Entered, sample: SampleId) -> Option<SampleId> {
        self.note(|| Event::Promoted(sample));
        match listener().is_none_or(|listener| listener.is_recorded) {
            true => Announcer.promoted(at, sample),
            false => Some(sample),
        }
    }

    fn freed(&self, at: &mut Entered, sample: SampleId) {
        self.died(sample);
        if listener().is_none_or(|listener| listener.is_recorded) {
            Announcer.freed(at, sample);
        }
    }
}

fn announce(at: &mut Entered, it: &tracker::Allocation) -> Option<SampleId> {
    #[cfg(feature = "tracing")]
    crate::context::send(at, crate::span::path());
    Announcer.allocated(at, it)
}

fn described(at: &Entered, it: &tracker::Allocation) -> Allocation {
    let is_growth = it.kind == AllocationKind::Growth;
    let chance = at.rate().chance(it.size as usize);
    let objects = if is_growth { 0.0 } else { 1.0 / chance };
    Allocation {
        size: it.size as usize,
        n_samples: it.samples,
        stands_for: Amount { objects, bytes: it.size as f64 / chance },
        source: match it.kind {
            AllocationKind::Outside(kind) => Source::External(kinds::name(kind)),
            _ => Source::Heap,
        },
        is_growth,
        thread: sys::thread_os_id(),
        time: Instant::now(),
        backtrace: Backtrace::new(at.backtraces.frames(), at.backtraces.is_truncated()),
        #[cfg(feature = "tracing")]
        span: crate::span::current(),
    }
}

impl Drop for CallListener {
    fn drop(&mut self) {
        if self.events.get_mut().is_empty() {
            return;
        }
        let events = self.events.take();
        if let Some(listener) = listener() {
            events.into_iter().for_each(|event| listener.deliver(event));
        }
    }
}
