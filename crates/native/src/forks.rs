//! What a fork needs: whole tables in the child, and no lock that nobody holds.

use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::{lock, phase};

use crate::unwind::engine;
use crate::{arena, families, modules, region};

/// Locks held over the fork, so that the child finds whole tables. Who cannot be waited for (in
/// bounded time) is left as it is.
static FROZEN: [AtomicBool; 4] = [const { AtomicBool::new(false) }; 4];

/// Before a fork, in the thread that forks.
pub extern "C" fn before() {
    let holds: [Option<lock::Held<'_>>; 4] = [
        modules::freeze(),
        families::live::freeze(),
        arena::heap().freeze(),
        region::heap().freeze(),
    ];
    for (held, frozen) in holds.into_iter().zip(&FROZEN) {
        frozen.store(held.is_some(), Ordering::Relaxed);
        // Released after the fork, in both processes.
        core::mem::forget(held);
    }
}

/// After it, in the parent.
pub extern "C" fn after() {
    modules::reopen();
    let thaws: [fn(); 4] =
        [modules::thaw, families::live::thaw, || arena::heap().thaw(), || region::heap().thaw()];
    for (thaw, frozen) in thaws.into_iter().zip(&FROZEN) {
        if frozen.swap(false, Ordering::Relaxed) {
            thaw();
        }
    }
}

/// After it, in the child.
pub extern "C" fn in_child() {
    modules::reset_after_fork();
    families::live::thaw();
    arena::heap().thaw();
    region::heap().thaw();
    engine::reset_after_fork();
    phase::on_fork_in_child();
}
