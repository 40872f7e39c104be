//! What a fork needs: whole tables in the child, and no lock that nobody holds.

use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::{lock, phase};

use crate::unwind::engine;
use crate::{arena, live, modules};

/// Locks held over the fork, so that the child finds whole tables. Who cannot be waited for (in
/// bounded time) is left as it is.
static FROZEN: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

/// Before a fork, in the thread that forks.
pub extern "C" fn before() {
    let holds: [Option<lock::Held<'_>>; 2] = [modules::freeze(), arena::freeze()];
    for (held, frozen) in holds.into_iter().zip(&FROZEN) {
        frozen.store(held.is_some(), Ordering::Relaxed);
        // Released after the fork, in both processes.
        core::mem::forget(held);
    }
}

/// After it, in the parent.
pub extern "C" fn after() {
    let thaws: [fn(); 2] = [modules::thaw, arena::thaw];
    for (thaw, frozen) in thaws.into_iter().zip(&FROZEN) {
        if frozen.swap(false, Ordering::Relaxed) {
            thaw();
        }
    }
}

/// After it, in the child.
pub extern "C" fn in_child() {
    modules::thaw();
    arena::thaw();
    live::abandon();
    engine::reset_after_fork();
    phase::on_fork_in_child();
}
