//! What the agent asks of the system. \[UNSAFE\]
//!
//! It asks the kernel, and by the instruction itself ([`raw`]): nothing of the program's is called, and
//! `errno` stays as it is. What only libc knows are its threads ([`thread`]), where `errno` is, the
//! environment, and what the kernel has told the process at its start.

use core::ffi::{c_char, c_int, c_ulong};

mod auxiliary;
mod clock;
mod copy;
mod descriptor;
mod environment;
mod fork;
mod memory;
pub mod pages;
mod prefetch;
mod process;
mod raw;
mod signals;
mod socket;
mod stack;
mod status;
pub mod thread;

pub use auxiliary::auxiliary;
pub use clock::now;
pub use copy::{copy, let_kernel_copy};
pub use descriptor::{Descriptor, read_link};
pub use environment::{
    environment_is_ready, environment_variable, remove_environment_variable,
    shorten_environment_variable,
};
pub use fork::{Forked, fork_unheard, leave_descriptors, processor_nanos};
pub use memory::{
    HUGE_PAGE, avoid_huge_pages, discard, discard_shared, map, map_at, map_file, map_huge,
    map_shared, protect, unmap, wipe_on_fork,
};
pub use prefetch::prefetch;
pub use process::process_id;
pub use signals::{Signals, block_these_signals, will_be_handled};
pub use socket::{Address, connect, receive, send};
pub use stack::{
    is_readable, main_stack, probe, probe_by_copying, signal_stack, stack_limit, stack_pointer,
};
pub use status::{Resident, most_resident_ever, reset_after_fork, resident};
pub use thread::{call_at_thread_end, prepare_thread_ends, sleep_micros, thread_os_id, yield_now};

/// Finds out what is found out once, by an agent that was loaded into the program. To be called at the start.
pub fn prepare() {
    thread::find_functions();
    now();
}

/// Where this thread's `errno` is, as long as the thread lives.
pub fn errno_address() -> *mut c_int {
    // SAFETY: tells an address.
    unsafe { libc::__errno_location() }
}

/// This thread's `errno`.
pub fn errno() -> c_int {
    // SAFETY: libc's own thread-local, valid for the thread's life.
    unsafe { *errno_address() }
}

/// Puts `errno` back as the program knew it.
pub fn set_errno(value: c_int) {
    // SAFETY: as above.
    unsafe { *errno_address() = value }
}

/// 64 bits that differ from process to process; 0 when the kernel has none to give.
pub fn entropy() -> u64 {
    let mut word = 0u64;
    let arguments = [&raw mut word as usize, size_of_val(&word), libc::GRND_NONBLOCK as usize];
    // SAFETY: writes one word.
    let _ = unsafe { raw::call(libc::SYS_getrandom, arguments) };
    word
}

/// The system call behind C's `prctl`, for a caller who expects C's answer: -1 and an `errno` if the
/// kernel refuses.
///
/// # Safety
/// As C's.
pub unsafe fn prctl(option: c_int, arguments: [c_ulong; 4]) -> c_int {
    let [second, third, fourth, fifth] = arguments.map(|argument| argument as usize);
    // SAFETY: by contract.
    let result =
        unsafe { raw::call(libc::SYS_prctl, [option as usize, second, third, fourth, fifth]) };
    as_in_c(result) as c_int
}

/// The system call behind C's `readlink`, with C's answer.
///
/// # Safety
/// As C's.
pub unsafe fn readlink(path: *const c_char, to: *mut c_char, size: usize) -> isize {
    let arguments = [libc::AT_FDCWD as usize, path as usize, to as usize, size];
    // SAFETY: by contract.
    as_in_c(unsafe { raw::call(libc::SYS_readlinkat, arguments) })
}

fn as_in_c(result: Result<usize, c_int>) -> isize {
    match result {
        Ok(value) => value as isize,
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// Ends the process as C's `_exit` does.
pub fn exit(status: c_int) -> ! {
    loop {
        // SAFETY: a plain number.
        let _ = unsafe { raw::call(libc::SYS_exit_group, [status as usize]) };
    }
}

/// Ends the process as C's `abort` does, but for handlers of the program's: they would run where nothing
/// can be relied on.
pub fn abort() -> ! {
    const KILLED: usize = 128 + libc::SIGABRT as usize;
    // SAFETY: plain numbers; what comes after a signal that is blocked or ignored ends the process too.
    unsafe {
        if let (Ok(process), Ok(thread)) =
            (raw::call(libc::SYS_getpid, []), raw::call(libc::SYS_gettid, []))
        {
            let _ = raw::call(libc::SYS_tgkill, [process, thread, libc::SIGABRT as usize]);
        }
        loop {
            let _ = raw::call(libc::SYS_exit_group, [KILLED]);
        }
    }
}
