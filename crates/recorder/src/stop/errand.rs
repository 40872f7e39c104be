//! A thread that waits in a system call, sent to run code of the agent's.
//!
//! A thread that is stopped within a system call is about to leave it, and the kernel has left in its registers whether the
//! call is to be made again. If it is, the thread's state is all in registers, and nothing is lost if it does something else
//! before: that is what it is made to do. The agent's code restores the registers, and makes the call again, by the number
//! that the kernel would have used. So the thread needs nobody from then on.
//!
//! Calls with a limit of time that the kernel goes on with by itself (`nanosleep`, `poll`, `futex`) keep what is left of
//! it: the kernel has it with the thread, where no call that the agent makes touches it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use lifetrace_transport::errand::{Frame, Way};
use rustix::process::Pid;

use super::call::{self, RegisterSet};
use super::registers::{AGAIN_WITHOUT_HANDLER, INTERRUPTED, NOT_RESTARTED, ROOM, place};
use super::{StopError, Stopped};

/// ERESTARTSYS: again, unless a handler runs that was set up otherwise.
const AGAIN: i64 = -512;
/// ERESTART_RESTARTBLOCK: to be gone on with, by a call of its own.
const GO_ON: i64 = -516;

pub(super) const CALL_INSTRUCTION: [u8; 2] = [0x0f, 0x05];
const ALL_SIGNALS: u64 = u64::MAX;

/// Sends a thread on its way, if it waits in a system call that can be made again; whether it does. All that is left to do
/// the thread does by itself.
///
/// # Errors
/// [`StopError`]; then the thread goes on as it was.
pub(crate) fn send(process: Pid, thread: Pid, way: Way) -> Result<bool, StopError> {
    let stopped = Stopped::stop_one(process, thread)?;
    if !stopped.are_undisturbed() {
        return Ok(false);
    }
    let mut room = vec![0; ROOM];
    let registers = call::read_registers(thread, RegisterSet::General, &mut room)?;
    let path = format!("/proc/{}/mem", process.as_raw_nonzero());
    let memory = File::options().read(true).write(true).open(path)?;
    let Some(frame) = frame(registers, &memory)? else { return Ok(false) };
    let blocked = call::blocked_signals(thread)?;
    let frame = Frame { blocked, ..frame };
    let words = frame.words().map(u64::to_ne_bytes);
    memory.write_all_at(words.as_flattened(), way.frame)?;
    call::block_signals(thread, ALL_SIGNALS)?;
    set_out(thread, registers, way).inspect_err(|_| {
        // It fails if the thread has been killed.
        let _ = call::block_signals(thread, blocked);
    })?;
    Ok(true)
}

/// How the thread comes back, if it waits in a call that can be made again.
fn frame(registers: &[u64], memory: &File) -> io::Result<Option<Frame>> {
    /// Of programs of 64 bits.
    const CODE_SEGMENT: u64 = 0x33;
    if registers.len() <= place::STACK_POINTER || registers[place::CODE_SEGMENT] != CODE_SEGMENT {
        return Ok(None);
    }
    let [result, number] = [place::RESULT, place::CALL].map(|at| registers[at] as i64);
    let Some((call, fails_if_handled)) = again(result, number) else { return Ok(None) };
    let code = registers[place::CODE].wrapping_sub(CALL_INSTRUCTION.len() as u64);
    let mut instruction = [0; CALL_INSTRUCTION.len()];
    memory.read_exact_at(&mut instruction, code)?;
    let stack_pointer = registers[place::STACK_POINTER];
    let frame = Frame {
        stack_pointer,
        code,
        call: call as u64,
        flag: 0,
        blocked: 0,
        fails_if_handled: fails_if_handled.into(),
    };
    Ok((instruction == CALL_INSTRUCTION).then_some(frame))
}

/// By which number a call is made again, and whether it fails if any handler runs first; `None` if it is over.
pub(super) fn again(result: i64, number: i64) -> Option<(i64, bool)> {
    match result {
        _ if number < 0 => None,
        AGAIN => Some((number, false)),
        AGAIN_WITHOUT_HANDLER => Some((number, true)),
        GO_ON => Some((nix::libc::SYS_restart_syscall, true)),
        INTERRUPTED if NOT_RESTARTED.contains(&number) => Some((number, true)),
        _ => None,
    }
}

/// The kernel is told that the thread is in no call, so that it makes none again.
fn set_out(thread: Pid, registers: &mut [u64], way: Way) -> io::Result<()> {
    registers[place::CALL] = u64::MAX;
    registers[place::RESULT] = 0;
    registers[place::CODE] = way.code;
    registers[place::STACK_POINTER] = way.frame;
    call::write_registers(thread, RegisterSet::General, registers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_can_be_made_again() {
        use nix::libc::{EINTR, SYS_epoll_wait, SYS_read, SYS_restart_syscall};
        let interrupted = -i64::from(EINTR);
        assert_eq!(again(-512, SYS_read), Some((SYS_read, false)));
        assert_eq!(again(-514, SYS_read), Some((SYS_read, true)));
        assert_eq!(again(-516, 230), Some((SYS_restart_syscall, true)));
        assert_eq!(again(interrupted, SYS_epoll_wait), Some((SYS_epoll_wait, true)));
        for (result, number) in [(5, SYS_read), (0, 230), (interrupted, 3), (-512, -1), (-513, 3)] {
            assert_eq!(again(result, number), None, "{result} of {number}");
        }
    }
}
