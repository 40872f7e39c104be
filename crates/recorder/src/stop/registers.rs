//! The registers of a thread that stands still.
//!
//! # Calls that fail as interrupted
//!
//! A thread that is stopped within a system call leaves it. Most calls the kernel begins again when the thread
//! goes on. Some it does not, whether a signal was handled or not: they return EINTR, which programs that know
//! of no signal handler may not expect. Where such a result is in a thread's registers, it is replaced by the
//! one that the kernel takes for "again, unless a handler runs" ([`mend`]). That is so on x86-64; on aarch64
//! the kernel has decided before the stop, and the call returns EINTR, as it does after a Ctrl-Z.

use std::io;

use rustix::process::Pid;

use super::call::{self, RegisterSet};

/// In words: AVX-512 and AMX need some 11 KiB.
pub(super) const ROOM: usize = 2 << 10;

/// All registers of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    general: Vec<u64>,
    /// The processor's vectors, in whatever order it keeps them.
    vectors: Vec<u64>,
}

impl Registers {
    pub(super) fn read(thread: Pid) -> io::Result<Registers> {
        let mut room = vec![0; ROOM];
        let general = call::read_registers(thread, RegisterSet::General, &mut room)?.to_vec();
        let vectors = vectors(thread, &mut room).unwrap_or_default().to_vec();
        Ok(Registers { general, vectors })
    }

    /// The words that are in registers.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        self.general.iter().chain(&self.vectors).copied()
    }

    /// The stack pointer.
    pub(crate) fn stack_pointer(&self) -> u64 {
        self.general.get(place::STACK_POINTER).copied().unwrap_or(0)
    }

    /// The next instruction.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn code(&self) -> u64 {
        self.general.get(place::CODE).copied().unwrap_or(0)
    }

    /// What thread-local variables are found by, where it is among the general registers.
    pub(crate) fn thread_pointer(&self) -> Option<u64> {
        place::THREAD_POINTER.and_then(|at| self.general.get(at).copied())
    }
}

#[cfg(target_arch = "x86_64")]
fn vectors(thread: Pid, room: &mut [u64]) -> io::Result<&[u64]> {
    let is_known = call::read_registers(thread, RegisterSet::Extended, room).is_ok();
    let set = if is_known { RegisterSet::Extended } else { RegisterSet::FloatingPoint };
    call::read_registers(thread, set, room).map(|read| &*read)
}

#[cfg(not(target_arch = "x86_64"))]
fn vectors(thread: Pid, room: &mut [u64]) -> io::Result<&[u64]> {
    call::read_registers(thread, RegisterSet::FloatingPoint, room).map(|read| &*read)
}

/// Where registers are in the kernel's list of the general ones.
#[cfg(target_arch = "x86_64")]
pub(super) mod place {
    pub(in super::super) const FRAME_POINTER: usize = 4;
    pub(in super::super) const RESULT: usize = 10;
    pub(in super::super) const CALL: usize = 15;
    pub(in super::super) const CODE: usize = 16;
    pub(in super::super) const CODE_SEGMENT: usize = 17;
    pub(in super::super) const STACK_POINTER: usize = 19;
    pub(super) const THREAD_POINTER: Option<usize> = Some(21);
}

#[cfg(target_arch = "aarch64")]
mod place {
    pub(super) const STACK_POINTER: usize = 31;
    pub(super) const THREAD_POINTER: Option<usize> = None;
}

/// System calls that the kernel does not begin again, and that do nothing before they fail as interrupted.
#[cfg(target_arch = "x86_64")]
pub(super) const NOT_RESTARTED: &[nix::libc::c_long] = {
    use nix::libc;
    &[
        libc::SYS_epoll_wait,
        libc::SYS_epoll_pwait,
        libc::SYS_epoll_pwait2,
        libc::SYS_semop,
        libc::SYS_semtimedop,
        libc::SYS_rt_sigtimedwait,
        libc::SYS_io_getevents,
        // Of sockets with a limit of time.
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_recvfrom,
        libc::SYS_recvmsg,
        libc::SYS_accept,
        libc::SYS_accept4,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_sendto,
        libc::SYS_sendmsg,
    ]
};

/// What the kernel leaves in the register of a call's result, if that was interrupted. But for the first these are never
/// returned to programs: the kernel looks at them when the thread goes on.
#[cfg(target_arch = "x86_64")]
pub(super) const INTERRUPTED: i64 = -(nix::libc::EINTR as i64);
/// ERESTARTNOHAND.
#[cfg(target_arch = "x86_64")]
pub(super) const AGAIN_WITHOUT_HANDLER: i64 = -514;

/// Has a call of a stopped thread begun again that would fail as interrupted, unless a signal is handled before.
#[cfg(target_arch = "x86_64")]
pub(super) fn mend(thread: Pid, signal: i32) {
    let mut room = vec![0; ROOM];
    let Ok(general) = call::read_registers(thread, RegisterSet::General, &mut room) else { return };
    let [result, number] = [general[place::RESULT] as i64, general[place::CALL] as i64];
    if signal == 0 && result == INTERRUPTED && NOT_RESTARTED.contains(&number) {
        general[place::RESULT] = AGAIN_WITHOUT_HANDLER as u64;
        // It fails if the thread has been killed.
        let _ = call::write_registers(thread, RegisterSet::General, general);
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn mend(_thread: Pid, _signal: i32) {}
