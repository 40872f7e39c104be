//! ptrace(2), as far as it is used here. \[UNSAFE\]

use std::ffi::c_void;
use std::io;
use std::ptr::null_mut;

use nix::libc;
use rustix::process::Pid;

/// A set of a thread's registers, as the kernel calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegisterSet {
    General,
    FloatingPoint,
    /// All of the processor's vector state.
    #[cfg(target_arch = "x86_64")]
    Extended,
}

impl RegisterSet {
    const fn number(self) -> usize {
        match self {
            RegisterSet::General => 1,
            RegisterSet::FloatingPoint => 2,
            #[cfg(target_arch = "x86_64")]
            RegisterSet::Extended => 0x202,
        }
    }
}

/// Becomes the tracer of a thread, which goes on running.
pub(super) fn seize(thread: Pid) -> io::Result<()> {
    // SAFETY: the request has no pointers.
    unsafe { ptrace(libc::PTRACE_SEIZE, thread, 0, null_mut()) }
}

/// Has a seized thread stop.
pub(super) fn interrupt(thread: Pid) -> io::Result<()> {
    // SAFETY: likewise.
    unsafe { ptrace(libc::PTRACE_INTERRUPT, thread, 0, null_mut()) }
}

/// Lets a stopped thread go on, with this signal unless it is 0.
pub(super) fn detach(thread: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: the kernel takes the pointer for a number.
    unsafe { ptrace(libc::PTRACE_DETACH, thread, 0, signal as usize as *mut c_void) }
}

/// Registers of a stopped thread; the part of `into` that was filled.
pub(super) fn read_registers(
    thread: Pid,
    set: RegisterSet,
    into: &mut [u64],
) -> io::Result<&mut [u64]> {
    let mut part = part_of(into);
    // SAFETY: the kernel writes no more than the vector's length to where it points, and then its length.
    unsafe {
        ptrace(libc::PTRACE_GETREGSET, thread, set.number(), (&raw mut part).cast())?;
    }
    Ok(&mut into[..part.iov_len / 8])
}

/// Gives a stopped thread these registers.
#[cfg(target_arch = "x86_64")]
pub(super) fn write_registers(
    thread: Pid,
    set: RegisterSet,
    registers: &mut [u64],
) -> io::Result<()> {
    let mut part = part_of(registers);
    // SAFETY: the kernel reads as much as the vector says.
    unsafe { ptrace(libc::PTRACE_SETREGSET, thread, set.number(), (&raw mut part).cast()) }
}

/// How the kernel chooses when a thread runs.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scheduling {
    policy: i32,
    priority: i32,
}

#[cfg(target_arch = "x86_64")]
impl Scheduling {
    /// Before all ordinary threads; threads that it starts are ordinary ones.
    pub(super) const FIRST: Scheduling =
        Scheduling { policy: libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, priority: 1 };

    /// As this is, but that threads which it starts are ordinary ones.
    pub(super) fn without_heirs(self) -> Scheduling {
        Scheduling { policy: self.policy | libc::SCHED_RESET_ON_FORK, ..self }
    }
}

/// This thread's. The kernel is asked itself: musl's functions say that there are none.
#[cfg(target_arch = "x86_64")]
pub(super) fn scheduling() -> Option<Scheduling> {
    let mut priority: libc::c_int = 0;
    // SAFETY: asks about the calling thread; the kernel writes its `sched_param`, which is a number.
    let policy = unsafe {
        if libc::syscall(libc::SYS_sched_getparam, 0, &raw mut priority) != 0 {
            return None;
        }
        libc::syscall(libc::SYS_sched_getscheduler, 0)
    };
    let policy = i32::try_from(policy).ok().filter(|&policy| policy >= 0)?;
    Some(Scheduling { policy, priority })
}

/// Changes this thread's.
#[cfg(target_arch = "x86_64")]
pub(super) fn schedule(as_this: Scheduling) -> io::Result<()> {
    let Scheduling { policy, priority } = as_this;
    // SAFETY: of the calling thread; the kernel reads the number.
    match unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets a stopped thread run one instruction.
#[cfg(target_arch = "x86_64")]
pub(super) fn step(thread: Pid) -> io::Result<()> {
    // SAFETY: the request has no pointers; no signal is passed on.
    unsafe { ptrace(libc::PTRACE_SINGLESTEP, thread, 0, null_mut()) }
}

/// Whether a stopped thread may be amid instructions that the kernel has it begin again if it is disturbed (rseq(2)): they
/// must not be left and come back to.
#[cfg(target_arch = "x86_64")]
pub(super) fn is_in_restartable_sequence(thread: Pid) -> bool {
    /// Of Linux 5.13 and later.
    const GET_RSEQ_CONFIGURATION: libc::c_uint = 0x420f;
    const SEQUENCE: usize = 8;
    let mut words = [0u64; 3];
    // SAFETY: the kernel writes no more than it is told that there is room.
    let known = unsafe {
        let room = size_of_val(&words);
        ptrace(GET_RSEQ_CONFIGURATION, thread, room, words.as_mut_ptr().cast())
    };
    if known.is_err() || words[0] == 0 {
        return false;
    }
    let place = words[0] as usize + SEQUENCE;
    // SAFETY: reads a word of the thread's memory.
    let word = unsafe {
        nix::errno::Errno::clear();
        libc::ptrace(
            libc::PTRACE_PEEKDATA,
            thread.as_raw_nonzero().get(),
            place as *mut c_void,
            null_mut::<c_void>(),
        )
    };
    word != 0
}

/// The signals that a stopped thread has blocked, the lowest bit for signal 1.
#[cfg(target_arch = "x86_64")]
pub(super) fn blocked_signals(thread: Pid) -> io::Result<u64> {
    let mut blocked = 0u64;
    // SAFETY: the kernel writes a set of this size.
    unsafe {
        ptrace(libc::PTRACE_GETSIGMASK, thread, size_of::<u64>(), (&raw mut blocked).cast())?;
    }
    Ok(blocked)
}

/// Has a stopped thread block these signals and no others.
#[cfg(target_arch = "x86_64")]
pub(super) fn block_signals(thread: Pid, mut blocked: u64) -> io::Result<()> {
    // SAFETY: the kernel reads a set of this size.
    unsafe { ptrace(libc::PTRACE_SETSIGMASK, thread, size_of::<u64>(), (&raw mut blocked).cast()) }
}

fn part_of(words: &mut [u64]) -> libc::iovec {
    libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: size_of_val(words) }
}

/// The kernel is asked itself: C libraries do not agree whether a request has a sign, nor for all of them.
///
/// # Safety
/// `data` is what the request wants it to be.
unsafe fn ptrace(
    request: impl Into<i64>,
    thread: Pid,
    address: usize,
    data: *mut c_void,
) -> io::Result<()> {
    let id = thread.as_raw_nonzero().get();
    // SAFETY: by contract.
    match unsafe { libc::syscall(libc::SYS_ptrace, request.into(), id, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
