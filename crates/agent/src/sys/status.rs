//! What the kernel says of this process's memory. \[UNSAFE\]

use core::cell::UnsafeCell;

use super::descriptor::open;
use super::raw;
use crate::lock::{Lock, Patience};

/// Resident memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    /// Now.
    pub now: u64,
    /// The most that this program has had.
    pub most: u64,
}

const ROOM: usize = 4096;

/// Room for the kernel's answer; who ends by `_exit` may have little stack.
struct Buffer(UnsafeCell<[u8; ROOM]>);

// SAFETY: used under `LOCK` alone.
unsafe impl Sync for Buffer {}

static LOCK: Lock = Lock::new();
static BUFFER: Buffer = Buffer(UnsafeCell::new([0; ROOM]));

/// Asks the kernel, by a file that is open meanwhile; `None` if it does not say, or another thread is asking.
pub fn resident() -> Option<Resident> {
    let _held = LOCK.acquire(Patience::None)?;
    // SAFETY: under the lock.
    let buffer = unsafe { &mut *BUFFER.0.get() };
    let file = open(c"/proc/self/status")?;
    let arguments = [file.number() as usize, buffer.as_mut_ptr() as usize, buffer.len()];
    // SAFETY: writes to the buffer, as far as it reaches.
    let length = unsafe { raw::call(libc::SYS_read, arguments) }.ok()?;
    let text = buffer.get(..length)?;
    Some(Resident {
        now: kilobytes(text, b"VmRSS:")? << 10,
        most: kilobytes(text, b"VmHWM:")? << 10,
    })
}

/// To be called in a forked child: another thread of the parent may have been asking.
pub fn reset_after_fork() {
    LOCK.reset();
}

/// The most resident memory, in bytes, of whatever this process has been so far: also of programs before this one,
/// and of the process that has started it, if their memory was the same (`vfork`).
pub fn most_resident_ever() -> Option<u64> {
    // SAFETY: zero is a valid `rusage`; the kernel writes to it.
    unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        let arguments = [libc::RUSAGE_SELF as usize, &raw mut usage as usize];
        raw::call(libc::SYS_getrusage, arguments).ok()?;
        Some((usage.ru_maxrss as u64) << 10)
    }
}

/// The number in the line that begins with `name`.
fn kilobytes(text: &[u8], name: &[u8]) -> Option<u64> {
    let line = text.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(name))?;
    let digits = line.iter().copied().skip_while(|byte| !byte.is_ascii_digit());
    let digits = digits.take_while(u8::is_ascii_digit);
    digits.fold(None, |number: Option<u64>, digit| {
        number.unwrap_or(0).checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::process_id;

    #[test]
    fn lines_of_kilobytes() {
        let text = b"Name:\tx\nVmHWM:\t   1234 kB\nVmRSS:\t 99 kB\nVmSwap: many";
        assert_eq!(kilobytes(text, b"VmHWM:"), Some(1234));
        assert_eq!(kilobytes(text, b"VmSwap:"), None);
        assert_eq!(kilobytes(text, b"VmPin:"), None);
    }

    #[test]
    fn our_own_memory() {
        const BYTES: usize = 32 << 20;
        let block = core::hint::black_box(std::vec![1_u8; BYTES]);
        let Resident { now, most } = resident().unwrap();
        assert!(now >= BYTES as u64 && most >= now, "{now} {most}");
        drop(block);
        // The kernel adds up what it counts by processor at other times for either figure.
        assert!(resident().unwrap().most >= BYTES as u64);
        assert!(most_resident_ever().unwrap() >= BYTES as u64);
        assert_eq!(process_id(), std::process::id());
        // Whoever asks is not there in a forked child.
        core::mem::forget(LOCK.acquire(Patience::None));
        assert_eq!(resident(), None);
        reset_after_fork();
        assert!(resident().is_some());
    }
}
