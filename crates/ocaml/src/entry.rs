//! Into the agent, from what the runtime calls.

use lifetrace_agent::announcer::Announcer;
use lifetrace_agent::guard::{self, Entered, Entry};

use crate::{host, stack};

/// Reports OCaml's samples to the recorder.
pub(crate) const TRACKER: Announcer = Announcer;

/// Bytes of a word.
pub(crate) const WORD_BYTES: u64 = 8;

/// Enters the agent; a forked child that has not looked for the recorder yet does so first.
pub(crate) fn enter() -> Option<Entered> {
    for _ in 0..2 {
        let entry = if stack::is_here() { guard::enter_on_own_stack() } else { guard::enter() };
        match entry {
            Entry::Recording(entered) => return Some(entered),
            Entry::Start(now) => host::begin_session(now),
            Entry::Bypass => return None,
        }
    }
    None
}
