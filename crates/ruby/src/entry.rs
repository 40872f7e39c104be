//! Into the agent, from what the machine calls.

use lifetrace_agent::guard::{self, Entered, Entry};
use lifetrace_agent::host;
use lifetrace_transport::message::Body;

/// Enters the agent; a forked child that has not looked for the recorder yet does so first.
pub(crate) fn enter() -> Option<Entered> {
    for _ in 0..2 {
        match guard::enter() {
            Entry::Recording(entered) => return Some(entered),
            Entry::Start(now) => host::begin_session(now),
            Entry::Bypass => return None,
        }
    }
    None
}

/// The recorder is to tell that.
pub(crate) fn notice(code: &'static [u8]) {
    if let Some(mut entered) = enter() {
        entered.send(Body::Notice { code });
    }
}
