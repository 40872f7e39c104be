//! A thread that is borrowed: stopped, sent to run a few instructions of ours, and left alone at once.
//!
//! Where it goes on afterwards is settled before it leaves: it needs nobody from then on, and the recorder may die. In the
//! kernel's hands are only calls that can be made again, as in [`super::errand`]; anywhere else a thread's state is its
//! registers.

use std::io;

use rustix::process::Pid;

use super::call::{self, RegisterSet};
use super::errand::{CALL_INSTRUCTION, again};
use super::registers::{INTERRUPTED, ROOM, place};
use super::{StopError, Stopped};

/// General registers, in the kernel's order.
pub(crate) const GENERAL: usize = 27;

/// Of programs of 64 bits.
const CODE_SEGMENT: u64 = 0x33;

/// A stopped thread of a process whose other threads go on.
#[derive(Debug)]
pub(crate) struct Held {
    _stopped: Stopped,
    thread: Pid,
    registers: [u64; GENERAL],
    blocked: u64,
}

/// With what a thread goes on where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Onward {
    /// Its registers.
    pub(crate) registers: [u64; GENERAL],
    /// The signals that it has blocked.
    pub(crate) blocked: u64,
    /// Where it goes on, and with which result, if a signal is to be handled before: its call fails as interrupted.
    pub(crate) interrupted: Option<(u64, u64)>,
}

impl Held {
    /// Stops a thread. `None` if a signal is on its way to it, or it is amid what cannot be left: then it goes on.
    ///
    /// # Errors
    /// [`StopError`]; then it goes on, too.
    pub(crate) fn hold(process: Pid, thread: Pid) -> Result<Option<Held>, StopError> {
        let stopped = Stopped::stop_one(process, thread)?;
        let mut room = vec![0; ROOM];
        let general = call::read_registers(thread, RegisterSet::General, &mut room)?;
        let Ok(registers) = <[u64; GENERAL]>::try_from(&*general) else { return Ok(None) };
        if !stopped.are_undisturbed()
            || registers[place::CODE_SEGMENT] != CODE_SEGMENT
            || call::is_in_restartable_sequence(thread)
        {
            return Ok(None);
        }
        let blocked = call::blocked_signals(thread)?;
        Ok(Some(Held { _stopped: stopped, thread, registers, blocked }))
    }

    /// Its next instruction, its stack pointer and its frame pointer.
    pub(crate) fn place(&self) -> [u64; 3] {
        [place::CODE, place::STACK_POINTER, place::FRAME_POINTER].map(|at| self.registers[at])
    }

    /// How it goes on where it is; `before` are the two bytes of code before its next instruction.
    pub(crate) fn onward(&self, before: [u8; 2]) -> Onward {
        onward(self.registers, self.blocked, before == CALL_INSTRUCTION)
    }

    /// Has it go on at `code` with all signals blocked, and lets it go.
    ///
    /// # Errors
    /// If it has been killed.
    pub(crate) fn send(self, code: u64) -> io::Result<()> {
        let mut registers = self.registers;
        registers[place::CODE] = code;
        // The kernel is told that the thread is in no call, so that it makes none again.
        registers[place::CALL] = u64::MAX;
        call::write_registers(self.thread, RegisterSet::General, &mut registers)?;
        // Should we die before this, the code at the end sets the signals right all the same.
        call::block_signals(self.thread, u64::MAX)
    }
}

fn onward(registers: [u64; GENERAL], blocked: u64, is_call: bool) -> Onward {
    let plain = Onward { registers, blocked, interrupted: None };
    let [result, number] = [place::RESULT, place::CALL].map(|at| registers[at] as i64);
    let Some((call, fails_if_handled)) = again(result, number).filter(|_| is_call) else {
        return plain;
    };
    let code = registers[place::CODE];
    let mut registers = registers;
    registers[place::CODE] = code.wrapping_sub(CALL_INSTRUCTION.len() as u64);
    registers[place::RESULT] = call as u64;
    let interrupted = fails_if_handled.then_some((code, INTERRUPTED as u64));
    Onward { registers, blocked, interrupted }
}

/// The signals of a process for which it has handlers, of what `/proc/<pid>/status` says.
pub(crate) fn handled_signals(status: &str) -> u64 {
    let set = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use nix::libc;

    use super::*;

    fn registers(result: i64, number: i64) -> [u64; GENERAL] {
        let mut registers = [7; GENERAL];
        registers[place::RESULT] = result as u64;
        registers[place::CALL] = number as u64;
        registers[place::CODE] = 0x1002;
        registers
    }

    #[test]
    fn calls_are_made_again_and_nothing_else_is_changed() {
        let busy = registers(5, -1);
        let plain = Onward { registers: busy, blocked: 3, interrupted: None };
        assert_eq!(onward(busy, 3, true), plain);
        let over = registers(12, libc::SYS_read);
        assert_eq!(onward(over, 0, true).registers, over);
        let waits = onward(registers(-512, libc::SYS_read), 0, true);
        assert_eq!(waits.registers, registers_at(0x1000, libc::SYS_read, libc::SYS_read));
        assert_eq!(waits.interrupted, None);
        let polls = onward(registers(-516, libc::SYS_poll), 0, true);
        let restart = libc::SYS_restart_syscall;
        assert_eq!(polls.registers, registers_at(0x1000, restart, libc::SYS_poll));
        assert_eq!(polls.interrupted, Some((0x1002, -4i64 as u64)));
        // What is there is no call: its number is one of before.
        assert_eq!(onward(registers(-512, 0), 0, false).registers, registers(-512, 0));
    }

    fn registers_at(code: u64, result: i64, number: i64) -> [u64; GENERAL] {
        let mut registers = registers(result, number);
        registers[place::CODE] = code;
        registers
    }

    #[test]
    fn handlers_are_bits() {
        assert_eq!(handled_signals("SigIgn:\t1\nSigCgt:\t0000000180000002\n"), 0x1_8000_0002);
        assert_eq!(handled_signals(""), 0);
    }
}
