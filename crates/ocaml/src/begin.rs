//! What every beginning of sampling needs, be it at a program's start or in its midst.

use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::guard::{self, Entry};
use lifetrace_agent::host::Host;
use lifetrace_transport::message::Body;
use lifetrace_transport::segment::Settings;

use crate::runtime::Runtime;
use crate::{entry, host, memprof, snapshot, stack, state, terms, thunks, totals, yielding};

static BEGUN: AtomicBool = AtomicBool::new(false);

/// The agent of this copy begins; whether for the first time.
pub(crate) fn begins() -> bool {
    !BEGUN.swap(true, Ordering::Relaxed)
}

/// Whether the agent of this copy has begun.
pub(crate) fn has_begun() -> bool {
    BEGUN.load(Ordering::Relaxed)
}

/// Has the agent ask `host` for its services from now on.
pub(crate) fn begin_with(host: Host) {
    host::set(host, forget_other_threads);
}

/// To be called in a forked child, where the parent's other threads have left things.
fn forget_other_threads() {
    state::reset_after_fork();
    stack::reset_after_fork();
    yielding::reset_after_fork();
    memprof::forget();
}

/// The probability that a word is to be hit, if the recorder wants OCaml to be sampled.
pub(crate) fn rate(settings: &Settings) -> Option<f64> {
    settings.sources.of(terms::NAME).map(|source| source.rate)
}

/// What the recorder wants, if it wants OCaml to be sampled.
pub(crate) fn settings() -> Option<(Settings, f64)> {
    let entered = entry::enter()?;
    let settings = *entered.session().header.settings();
    rate(&settings).map(|rate| (settings, rate))
}

/// Sees to all that a session's callbacks need; false when there is no memory for it.
pub(crate) fn prepare_callbacks(runtime: &Runtime, settings: &Settings, rate: f64) -> bool {
    if !runtime.version.has_fibers() && !stack::prepare() {
        return false;
    }
    thunks::C_CALL.store(runtime.c_call as usize, Ordering::Relaxed);
    host::wish(depth_at(rate, settings.stack_limit as usize), !settings.sources.has_malloc());
    if let Some(mut entered) = entry::enter() {
        drop(state::of_session(&mut entered, runtime));
    }
    totals::follow(runtime);
    snapshot::follow(runtime);
    true
}

/// How deep stacks are to be walked: as deep as they get where samples are rare, and never so deep that
/// the runtime's walk, and the array that it makes of the frames, cost more than about a quarter of a
/// microsecond for each word allocated. Both ends of a stack that is deeper than the limit are wanted, so not less than
/// the limit.
fn depth_at(rate: f64, limit: usize) -> usize {
    const FRAMES_PER_WORD: f64 = 10.0;
    const DEEPEST: f64 = (1 << 20) as f64;
    ((FRAMES_PER_WORD / rate).min(DEEPEST) as usize).max(limit)
}

/// The recorder is to tell that.
pub(crate) fn notice(code: &'static [u8]) {
    if let Entry::Recording(mut entered) = guard::enter() {
        entered.send(Body::Notice { code });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_samples_are_walked_to_their_end_and_frequent_ones_to_the_limit() {
        assert_eq!(depth_at(1e-6, 8192), 1 << 20);
        assert_eq!(depth_at(1e-4, 8192), 100_000);
        assert_eq!(depth_at(1.0, 8192), 8192);
    }
}
