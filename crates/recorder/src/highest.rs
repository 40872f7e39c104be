//! Whether the command, or something that it has started, has had more memory than any traced process: then a
//! process that was not traced has had it.
//!
//! The kernel tells, when the command has ended, the most that it or one of its descendants has had, however
//! short they lived (but for those that nobody has waited for).

use std::fs;

use lifetrace_trace::ids::Bytes;

use crate::observe::kilobytes;

/// The kernel counts by processor, and adds up at other times for one figure than for the other.
const SLACK: u64 = 8 << 20;

/// What is told is greater by this part, one in so many.
const PART: u64 = 8;

/// The most memory that any program has had of which we know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Highest {
    bytes: u64,
    /// Of one it is not known.
    is_unsure: bool,
}

impl Highest {
    /// That of this process: until it executes a program, the command has the same memory.
    pub(crate) fn own() -> Highest {
        let status = fs::read("/proc/self/status").unwrap_or_default();
        let mut highest = Highest::default();
        highest.take(kilobytes(&status, "VmHWM:"));
        highest
    }

    /// One more program's.
    pub(crate) fn take(&mut self, most: Option<Bytes>) {
        self.is_unsure |= most.is_none();
        self.bytes = self.bytes.max(most.map_or(0, |bytes| bytes.0));
    }

    /// Whether a program that is not known must have had so much.
    pub(crate) fn is_surpassed_by(&self, most: Bytes) -> bool {
        !self.is_unsure && most.0 > self.bytes.saturating_add(self.bytes / PART + SLACK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_known_program_has_had_is_anothers() {
        let mut highest = Highest::default();
        highest.take(Some(Bytes(30 << 20)));
        highest.take(Some(Bytes(2 << 20)));
        assert!(highest.is_surpassed_by(Bytes(50 << 20)));
        assert!(!highest.is_surpassed_by(Bytes(40 << 20)));
        highest.take(None);
        assert!(!highest.is_surpassed_by(Bytes(50 << 20)));
        let own = Highest::own();
        assert!(own.bytes > 1 << 20 && !own.is_unsure);
    }
}
