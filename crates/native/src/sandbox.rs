//! Processes that are about to give up system calls. \[UNSAFE\]
//!
//! A forked child connects to the recorder at its first allocation. If it has entered a sandbox before,
//! the sockets that this takes may be forbidden, and a sandbox may kill for that. But who enters one says
//! so first, by `prctl`: either to enter it, or to promise to gain no privileges, without which the
//! kernel takes no filter from ordinary users. So this function is hooked as well, and the child connects
//! while it may.
//!
//! Nor are `_exit` and `exec` [hooked](crate::ends) then. After that the agent makes no system calls but those that an
//! allocator makes (mmap, munmap, madvise), rt_sigprocmask, to ask whether memory is there, and while it waits for
//! another thread or for the recorder, sched_yield and nanosleep.

use core::ffi::{c_int, c_ulong, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use lifetrace_agent::guard::{self, Entry};
use lifetrace_agent::phase::{self, Phase};
use lifetrace_agent::{room, sys};

use crate::next::lookup;
use crate::start;

type Prctl = unsafe extern "C" fn(c_int, c_ulong, c_ulong, c_ulong, c_ulong) -> c_int;

static NEXT_PRCTL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Finds the next `prctl`. The process has a single thread now.
pub(crate) fn resolve() {
    if let Some(found) = lookup(c"prctl") {
        NEXT_PRCTL.store(found, Ordering::Relaxed);
    }
}

/// A copy of the first instructions of C's `prctl`, where those are a jump to us.
static COPY: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Has [`patched`] go on at this copy of the first instructions of C's `prctl`.
pub(crate) fn go_on_at(copy: usize) {
    COPY.store(copy as *mut c_void, Ordering::Relaxed);
}

/// What `prctl` becomes where its first instructions are a jump. It must not be called by the name that the library
/// exports: in a process that has loaded us late, that name is C's own function.
///
/// # Safety
/// As [`prctl`]; a copy is known.
pub(crate) unsafe extern "C" fn patched(
    option: c_int,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
) -> c_int {
    prepare(option);
    // SAFETY: only a patched function leads here, whose copy is of this type; the arguments are the caller's.
    unsafe {
        let copy = COPY.load(Ordering::Relaxed);
        core::mem::transmute::<*mut c_void, Prctl>(copy)(option, second, third, fourth, fifth)
    }
}

/// Does what is to be done before a process may have entered a sandbox.
#[inline(never)]
fn prepare(option: c_int) {
    if matches!(option, libc::PR_SET_SECCOMP | libc::PR_SET_NO_NEW_PRIVS) {
        room::expect_sandbox();
        connect_while_possible();
    }
}

/// # Safety
/// As C's, which is variadic: arguments that an option does not have may hold anything.
pub unsafe extern "C" fn prctl(
    option: c_int,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
) -> c_int {
    prepare(option);
    let next = NEXT_PRCTL.load(Ordering::Relaxed);
    if next.is_null() {
        // SAFETY: what C's prctl does with the caller's arguments.
        return unsafe { sys::prctl(option, [second, third, fourth, fifth]) };
    }
    // SAFETY: `resolve` stored a function of this type; the arguments are the caller's.
    unsafe {
        core::mem::transmute::<*mut c_void, Prctl>(next)(option, second, third, fourth, fifth)
    }
}

/// In a forked child: starts, and gives this thread what it needs for its first sample.
#[cold]
fn connect_while_possible() {
    if phase::current() == Phase::Forked
        && let Entry::Start(now) = guard::enter()
    {
        start::start(now);
        drop(guard::enter());
    }
}
