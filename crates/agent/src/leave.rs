//! The end of a process whose memory the recorder looks through before: for samples to which nothing points any more.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::session::{self, Session};
use crate::sys;

/// A recorder that shows no sign of life for so long is dead.
const NO_SIGN_NANOS: u64 = 1_000_000_000;

/// Longer than this nobody waits. What passes while the process is stopped counts, too.
const LONGEST_NANOS: u64 = 60_000_000_000;

const SLEEP_MICROS: u32 = 100;

/// The session that has waited.
static WAITED: AtomicU32 = AtomicU32::new(0);

/// Waits until the recorder has looked through this process's memory, which it does when it has been told that the
/// process is ending; once in a session.
pub fn wait_for_look(session: &Session) {
    if WAITED.swap(session.number, Ordering::Relaxed) == session.number {
        return;
    }
    // The recorder would find out by itself, a little later.
    session::announce_end();
    let begun = sys::now().0;
    let (mut beat, mut seen) = (session.header.heartbeat(), begun);
    while !session.header.may_exit() && !session.header.stopped() {
        let now = sys::now().0;
        let last = core::mem::replace(&mut beat, session.header.heartbeat());
        if beat != last {
            seen = now;
        }
        if now.saturating_sub(seen) > NO_SIGN_NANOS || now.saturating_sub(begun) > LONGEST_NANOS {
            return;
        }
        sys::sleep_micros(SLEEP_MICROS);
    }
}
