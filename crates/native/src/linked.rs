//! The agent as a part of the program, which says itself when to start, and whose allocator asks for
//! samples.

use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::{loader, room, sys};

use crate::unwind::engine;
use crate::{arena, executable, live, modules};

/// Does what a session's samples need; whether there is memory for them. Those of an earlier session are
/// forgotten. One thread at a time.
pub fn prepare() -> bool {
    static PREPARED: AtomicBool = AtomicBool::new(false);
    if !PREPARED.swap(true, Ordering::Relaxed) {
        modules::share_with_program();
        engine::prepare();
    }
    live::clear();
    arena::prepare()
}

/// Finds out, once, where the main thread's stack is and which program this is. One thread at a time.
pub fn take_notes() {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if !TAKEN.swap(true, Ordering::Relaxed) {
        loader::object::prepare();
        sys::thread::use_functions(sys::thread::Functions {
            key_create: libc::pthread_key_create,
            set_specific: libc::pthread_setspecific,
            this: libc::pthread_self,
            clock: libc::pthread_getcpuclockid,
        });
        room::take_note_of_main_stack();
        executable::take_note();
    }
}
