//! When to look for a recorder that may come, or come again.
//!
//! A program that is started by somebody who has nothing to do with us is told of a standing recorder: it may come up later
//! than the program, and go and come again. As long as there is none, a thread whose countdown ends looks for it, at most
//! every [`BETWEEN`] in the whole process. What it does then is one `connect`, which fails at once where nobody listens; where
//! somebody does, the thread waits for a quarter of a second at most.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::session::Session;
use crate::{room, sys};

/// In nanoseconds. Of many processes not all come at once.
const BETWEEN: u64 = 5_000_000_000;

/// Bytes that a thread allocates before it asks whether it is time to look for a recorder, where there has been none yet.
/// It stays fresh meanwhile: what is drawn first is drawn when there is one. Where there has been one, gaps are drawn as they
/// were for it: what is left of such a gap is as good as a fresh one, should the same rate be wanted again.
pub(crate) const BETWEEN_LOOKS: i64 = 512 << 10;

/// A recorder that shows no sign of life for so long is gone, in nanoseconds.
const DEAD: u64 = 10_000_000_000;

static IS_ENDLESS: AtomicBool = AtomicBool::new(false);

/// The agent of a managed runtime can begin late.
static CAN_BEGIN_MANAGED: AtomicBool = AtomicBool::new(false);

/// When somebody looked last.
static LOOKED_AT: AtomicU64 = AtomicU64::new(0);

/// When the last recorder was lost; 0 if there was none.
static LOST_AT: AtomicU64 = AtomicU64::new(0);

/// The last sign of life, and when it was new.
static BEAT: AtomicU64 = AtomicU64::new(0);
static BEAT_AT: AtomicU64 = AtomicU64::new(0);

/// From now on a recorder is awaited where there is none.
pub(super) fn begin() {
    IS_ENDLESS.store(true, Ordering::Relaxed);
    LOOKED_AT.store(sys::now().0, Ordering::Relaxed);
}

/// Whether it is.
pub(super) fn is_endless() -> bool {
    IS_ENDLESS.load(Ordering::Relaxed)
}

pub(super) fn begin_managed_late() {
    CAN_BEGIN_MANAGED.store(true, Ordering::Relaxed);
}

/// Whether the agent of the managed runtime, if there is one, can begin in the midst of the program.
pub(super) fn can_begin_managed() -> bool {
    CAN_BEGIN_MANAGED.load(Ordering::Relaxed)
}

/// Whether there may be another session after this one.
pub(super) fn may_begin_again(session: &Session) -> bool {
    let is_managed = session.header.settings().sources.managed().is_some();
    is_endless() && (can_begin_managed() || !is_managed)
}

/// A session has ended.
pub(super) fn note_end() {
    let now = sys::now().0;
    let beat_at = BEAT_AT.swap(0, Ordering::Relaxed);
    let is_dead = now.saturating_sub(beat_at) > DEAD && beat_at > 0;
    LOST_AT.store(if is_dead { beat_at } else { now }, Ordering::Relaxed);
    LOOKED_AT.store(now, Ordering::Relaxed);
}

/// For how long there was no recorder, if there was one before.
pub(super) fn unheard_millis() -> u64 {
    match LOST_AT.load(Ordering::Relaxed) {
        0 => 0,
        lost => (sys::now().0.saturating_sub(lost) / 1_000_000).max(1),
    }
}

/// Whether it is time to look. A sandbox may kill for that.
pub(super) fn is_due() -> bool {
    if !is_endless() || room::is_sandbox_expected() {
        return false;
    }
    let (now, last) = (sys::now().0, LOOKED_AT.load(Ordering::Relaxed));
    let spread = u64::from(sys::process_id()) % 16 * (BETWEEN / 16);
    now.saturating_sub(last) >= BETWEEN + spread
        && LOOKED_AT.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

/// Whether the recorder has shown no sign of life for long.
pub(super) fn is_dead(session: &Session) -> bool {
    let (now, beat) = (sys::now().0, session.header.heartbeat());
    if BEAT.swap(beat, Ordering::Relaxed) != beat {
        BEAT_AT.store(now, Ordering::Relaxed);
        return false;
    }
    now.saturating_sub(BEAT_AT.load(Ordering::Relaxed)) > DEAD
}
