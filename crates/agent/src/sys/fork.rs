//! A child of which the program hears nothing. \[UNSAFE\]
//!
//! libc's `fork` runs what libraries have registered with it, which changes things in the child (OCaml's threads forget
//! each other); and its child would be waited for by a program that waits for any. So the kernel is asked, twice: a process
//! in between, which shares all memory and ends at once, makes the child that stays. That is nobody's child then, and the
//! processor time it takes is not added to the program's children's.

use core::ffi::c_int;

use super::descriptor::Descriptor;
use super::raw;
use super::signals::{block_signals, block_these_signals};

#[cfg_attr(target_arch = "x86_64", path = "fork_x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "fork_aarch64.rs")]
mod arch;

/// Which of both processes this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The program.
    Parent,
    /// The child, in which no signal is heard: one that says that it went wrong ends it.
    Child,
}

/// Forks; `None` if the system refuses.
///
/// # Safety
/// The child does nothing that needs other threads, locks, or what the program keeps in the kernel, and ends by
/// [`exit`](super::exit) without going back to the program.
pub unsafe fn fork_unheard() -> Option<Forked> {
    let heard = block_signals()?;
    let first = (libc::CLONE_VM | libc::CLONE_VFORK) as usize;
    // SAFETY: by contract; the process in between has the thread's memory to itself.
    let answer = unsafe { arch::fork_twice(first) };
    if answer == 0 {
        return Some(Forked::Child);
    }
    let has_child = answer > 0 && ended_well(answer as usize);
    block_these_signals(heard);
    has_child.then_some(Forked::Parent)
}

/// Waits for the process in between, which nobody else can wait for: it tells nobody of its end.
fn ended_well(process: usize) -> bool {
    let mut status: c_int = -1;
    let arguments = [process, &raw mut status as usize, libc::__WALL as usize, 0];
    // SAFETY: writes a status.
    while unsafe { raw::call(libc::SYS_wait4, arguments) } == Err(libc::EINTR) {}
    status == 0
}

/// To be called in the child: leaves all descriptors but one, so that whoever waits for one to be closed does not
/// wait for the child; leaves no core, and is the first to go where memory runs out.
pub fn leave_descriptors(kept: &Descriptor) {
    const LAST: usize = u32::MAX as usize;
    let kept = kept.number() as usize;
    // SAFETY: the child's own table of descriptors, of which nobody here uses one.
    unsafe {
        let below = kept == 0 || raw::call(libc::SYS_close_range, [0, kept - 1, 0]).is_ok();
        if !below || raw::call(libc::SYS_close_range, [kept + 1, LAST, 0]).is_err() {
            close_each(kept);
        }
        // Also where cores are piped to a program: that limit of 1 forbids both.
        let limit = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
        let _ = raw::call(
            libc::SYS_prlimit64,
            [0, libc::RLIMIT_CORE as usize, &raw const limit as usize],
        );
    }
    be_first_to_go();
}

/// # Safety
/// As [`leave_descriptors`].
unsafe fn close_each(kept: usize) {
    const MOST: u64 = 1 << 16;
    let mut limit = libc::rlimit { rlim_cur: MOST, rlim_max: 0 };
    // SAFETY: writes a limit; by contract.
    unsafe {
        let which = libc::RLIMIT_NOFILE as usize;
        let _ = raw::call(libc::SYS_prlimit64, [0, which, 0, &raw mut limit as usize]);
        for descriptor in (0..limit.rlim_cur.min(MOST) as usize).filter(|&it| it != kept) {
            let _ = raw::call(libc::SYS_close, [descriptor]);
        }
    }
}

fn be_first_to_go() {
    let path = c"/proc/self/oom_score_adj";
    let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, libc::O_WRONLY as usize];
    // SAFETY: a C string; the file is closed again, or is closed at the child's end.
    unsafe {
        if let Ok(file) = raw::call(libc::SYS_openat, arguments) {
            let _ = raw::call(libc::SYS_write, [file, c"1000".as_ptr() as usize, 4]);
            let _ = raw::call(libc::SYS_close, [file]);
        }
    }
}

/// Processor time of this process, in nanoseconds.
pub fn processor_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let arguments = [libc::CLOCK_PROCESS_CPUTIME_ID as usize, &raw mut time as usize];
    // SAFETY: writes a time.
    let _ = unsafe { raw::call(libc::SYS_clock_gettime, arguments) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
