//! The first bytes of functions, written while all threads of a process stand still.

use std::time::{Duration, Instant};

use lifetrace_transport::attach::{Jump, Told};
use lifetrace_transport::patch::JUMP;
use rustix::process::Pid;

use super::error::AttachError;
use super::library::Library;
use super::memory::Memory;
use crate::stop::{Hurry, Stopped};

/// A thread is led past the bytes by so many steps at most.
const MOST_STEPS: usize = 64;

/// So often all threads are stopped until none is where it must not be.
const MOST_STOPS: u32 = 200;

/// States of threads in which they have nothing of a session's but a countdown (`agent`'s `thread`).
const FRESH: u64 = 0;
const COUNTING: u64 = 1;
const LAST_STATE_WITHOUT_RECORD: u64 = 3;

/// The rate of a countdown that was drawn at the session's first one (`agent`'s `tls`).
const RATE_OF_SETTINGS: u64 = 0;

/// How it went.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Written {
    /// For how long all threads stood still.
    pub(super) pause: Duration,
    pub(super) threads: usize,
}

/// Puts jumps in place, and gives threads that have countdowns of an earlier session new ones.
///
/// # Errors
/// [`AttachError`]; then no jump is in place.
pub(super) fn put(pid: Pid, memory: &Memory, told: &Told<'_>) -> Result<Written, AttachError> {
    let jumps: Vec<Jump> = told.jumps().collect();
    write(
        pid,
        memory,
        &jumps,
        |it| (it.original, it.jump),
        |stopped| {
            renew_countdowns(memory, told, stopped);
        },
    )
}

/// Takes them back, and waits until no thread runs anything of the library's any more.
///
/// # Errors
/// [`AttachError`]; then they are as they were.
pub(super) fn take_back(
    pid: Pid,
    memory: &Memory,
    jumps: &[Jump],
    library: &Library,
) -> Result<Written, AttachError> {
    let written = write(pid, memory, jumps, |it| (it.jump, it.original), |_| {})?;
    for _ in 0..MOST_STOPS {
        let Ok(stopped) = Stopped::stop(pid) else { break };
        let is_inside = |thread| {
            let code = stopped.registers(thread).map_or(0, |registers| registers.code());
            library.text.contains(&code)
        };
        if !stopped.threads().any(is_inside) {
            break;
        }
        drop(stopped);
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(written)
}

/// Whether a process has these jumps in place, or some of them.
pub(super) fn are_in_place(memory: &Memory, jumps: &[Jump]) -> bool {
    jumps.iter().any(|it| memory.array(it.address) == Some(it.jump))
}

fn write(
    pid: Pid,
    memory: &Memory,
    jumps: &[Jump],
    bytes: impl Fn(&Jump) -> ([u8; JUMP], [u8; JUMP]),
    also: impl Fn(&Stopped),
) -> Result<Written, AttachError> {
    let _hurry = Hurry::begin();
    for _ in 0..MOST_STOPS {
        let begun = Instant::now();
        let mut stopped = Stopped::stop(pid)?;
        if !lead_past(&mut stopped, memory, jumps)? {
            drop(stopped);
            std::thread::sleep(Duration::from_micros(500));
            continue;
        }
        replace(memory, jumps, &bytes)?;
        also(&stopped);
        let threads = stopped.threads().count();
        drop(stopped);
        return Ok(Written { pause: begun.elapsed(), threads });
    }
    Err(AttachError::Amid)
}

/// All of them, or none. What is there already may stay.
fn replace(
    memory: &Memory,
    jumps: &[Jump],
    bytes: impl Fn(&Jump) -> ([u8; JUMP], [u8; JUMP]),
) -> Result<(), AttachError> {
    for (done, it) in jumps.iter().enumerate() {
        let (before, after) = bytes(it);
        let there: Option<[u8; JUMP]> = memory.array(it.address);
        let result = match there {
            Some(there) if there == before => memory.write(it.address, &after),
            Some(there) if there == after => Ok(()),
            // The module may have been unloaded; then nothing is to be taken back.
            None => Ok(()),
            Some(_) => Err(std::io::ErrorKind::InvalidData.into()),
        };
        if let Err(error) = result {
            for it in &jumps[..done] {
                // It was writable a moment ago.
                let _ = memory.write(it.address, &bytes(it).0);
            }
            return Err(match error.kind() {
                std::io::ErrorKind::InvalidData => AttachError::Unpatched,
                _ => AttachError::Unwritable(error),
            });
        }
    }
    Ok(())
}

/// Leads threads past the bytes that are to be written; whether none is amid them then, nor comes back there from a signal
/// handler.
fn lead_past(stopped: &mut Stopped, memory: &Memory, jumps: &[Jump]) -> Result<bool, AttachError> {
    let is_amid = |code: u64| {
        jumps.iter().any(|it| (it.address + 1..it.address + JUMP as u64).contains(&code))
    };
    let threads: Vec<Pid> = stopped.threads().collect();
    for &thread in &threads {
        let mut registers = stopped.registers(thread).map_err(AttachError::System)?;
        let mut steps = 0;
        while is_amid(registers.code()) {
            steps += 1;
            if steps > MOST_STEPS {
                return Ok(false);
            }
            registers = stopped.step(thread)?;
        }
        if comes_back(memory, registers.stack_pointer(), is_amid) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a signal handler that runs returns amid the bytes: then their address is in the frame that the kernel has made on
/// the stack, and nowhere else, as no call is among them.
fn comes_back(memory: &Memory, stack: u64, is_amid: impl Fn(u64) -> bool) -> bool {
    const NEAR: usize = 8 << 10;
    let words = memory.read_up_to(stack, NEAR);
    let mut words = words.chunks_exact(8).filter_map(|it| it.try_into().ok());
    words.any(|word| is_amid(u64::from_le_bytes(word)))
}

/// What a thread has counted down of an earlier session's gap says nothing of this one's.
fn renew_countdowns(memory: &Memory, told: &Told<'_>, stopped: &Stopped) {
    for (index, thread) in stopped.threads().enumerate() {
        let pointer = stopped.registers(thread).ok().and_then(|it| it.thread_pointer());
        let Some(place) = pointer.map(|it| it.wrapping_add_signed(told.countdown())) else {
            continue;
        };
        let words = match memory.word(place + 8) {
            Some(FRESH | COUNTING) => [0, FRESH, RATE_OF_SETTINGS],
            Some(state) if state > LAST_STATE_WITHOUT_RECORD => {
                [told.gap(index) as u64, state, RATE_OF_SETTINGS]
            }
            _ => continue,
        };
        // A thread that has not got its variables yet has nothing to be renewed.
        let _ = memory.write(place, words.map(u64::to_le_bytes).as_flattened());
    }
}
