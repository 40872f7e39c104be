//! Backtraces from inside malloc: bounded, without allocation, without the loader. \[UNSAFE\]
//!
//! [`engine`] holds framehop's CFI unwinder over the modules that [`crate::modules`] knows. In front
//! of it are the thread's last backtrace, frame by frame with its [`rule`]
//! ([`lifetrace_agent::backtrace`]), and a few [`cache`]s of rules, of which a thread borrows one for
//! the length of a walk ([`walker`]). [`readable`] is what keeps a walk that has lost its way from
//! touching memory that isn't there. [`made_code`] is for frames that have no tables. [`tables`] keeps what framehop reads from staying resident.
//! [`registers`] is where a walk begins.
//!
//! A walk ends at the outermost frame, or where it can't go on: at code without unwind information
//! (a JIT's) whose frame pointers don't lead on, at unreadable memory, at the greatest depth. In all but the first case the backtrace is
//! marked as truncated. Frames of this library itself are left out.

pub mod cache;
pub mod engine;
pub mod frame_registers;
pub mod made_code;
pub mod map;
pub mod readable;
#[cfg_attr(target_arch = "x86_64", path = "registers_x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "registers_aarch64.rs")]
pub mod registers;
pub mod rule;
pub mod tables;
pub mod walker;

use lifetrace_agent::guard::Entered;
use lifetrace_agent::thread::Thread;

use crate::modules;
use walker::Walk;

/// Captures this thread's backtrace into its [`Thread`], from the first frame outside this library,
/// and sees to it that the recorder knows all modules in it. Where the agent is a part of the program,
/// the frames up to the stack pointer `own_stack` count as the library's.
#[inline(never)]
pub fn capture(entered: &mut Entered, own_stack: u64) {
    if !entered.has_room_for_backtrace() {
        entered.backtraces.leave_out();
        return;
    }
    modules::refresh(entered);
    match walk_and_learn(entered, own_stack) {
        Walk::Complete | Walk::Past(_) => {}
        Walk::Stale(_) => entered.backtraces.leave_out(),
        Walk::Unknown(_) | Walk::CutOff => entered.backtraces.truncate(),
    }
}

/// Walks until no new module is met any more.
fn walk_and_learn(entered: &mut Entered, own_stack: u64) -> Walk {
    /// A stack that leads through so many new ones can be walked to its end next time.
    const MOST_NEW_MODULES: usize = 64;
    for _ in 0..MOST_NEW_MODULES {
        match walk(entered, own_stack) {
            Walk::Unknown(address) | Walk::Past(address) | Walk::Stale(address)
                if modules::learn(entered, address) => {}
            end => return end,
        }
    }
    walk(entered, own_stack)
}

#[inline(never)]
fn walk(entered: &mut Entered, own_stack: u64) -> Walk {
    let patience = entered.session().patience();
    let Thread { id, backtraces, readable, .. } = &mut **entered;
    engine::walk(id.0 as usize, patience, own_stack, readable, backtraces)
}

#[cfg(test)]
mod tests;
