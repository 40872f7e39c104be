//! The path of the program. \[UNSAFE\]
//!
//! The kernel is asked at the start of the process, once: a sandbox may forbid it later. It takes a
//! dynamic linker for the program if that was executed to run one (`ld.so ./program`); then the path is
//! left empty, and the recorder finds the program.

use core::cell::UnsafeCell;

use lifetrace_agent::sys;

const LONGEST: usize = 1024;

struct Executable(UnsafeCell<([u8; LONGEST], usize)>);

// SAFETY: written by `take_note` alone, before anybody reads it.
unsafe impl Sync for Executable {}

static EXECUTABLE: Executable = Executable(UnsafeCell::new(([0; LONGEST], 0)));

/// Asks for the path. To be called once, while the process has a single thread.
pub fn take_note() {
    if !has_linker_beside() {
        return;
    }
    // SAFETY: nobody reads it yet.
    let (path, length) = unsafe { &mut *EXECUTABLE.0.get() };
    *length = sys::read_link(c"/proc/self/exe", path).unwrap_or(0).min(LONGEST);
}

/// Whether the kernel has loaded a dynamic linker beside what it has executed: not for the linker
/// itself, nor for a static program.
fn has_linker_beside() -> bool {
    // SAFETY: it only looks into what the kernel has left for the process.
    let base = unsafe { libc::getauxval(libc::AT_BASE) };
    base != 0
}

/// The path, as far as it is known; empty before [`take_note`], or without `/proc`.
pub fn path() -> &'static [u8] {
    // SAFETY: not written any more.
    let (path, length) = unsafe { &*EXECUTABLE.0.get() };
    &path[..*length]
}
