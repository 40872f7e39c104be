//! How a thread that waits in the kernel is made to do something for the recorder: it is sent on an *errand*.
//!
//! A program that waits comes to no place where its agent could look for wishes. So the recorder stops one of its threads,
//! writes a [`Frame`] where the agent wants it, and has the thread run the agent's code. That does what is to be done, and
//! goes back by itself to where the thread was, with all registers as they were; so the recorder may let go of the thread at
//! once, or die. The thread makes its system call again, as it does after a Ctrl-Z and `fg`.
//!
//! A program that runs all the time, without coming to such a place, is given a *nudge* instead: while it stands still, the
//! recorder writes a few words that its runtime looks at often.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Where the agent wants threads to be sent, and what has come of it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Errand {
    /// 0 if nobody can be sent.
    code: AtomicU64,
    frame: AtomicU64,
    is_under_way: AtomicU32,
    outcome: AtomicU32,
    nudge: [Place; NUDGE],
}

/// A nudge is no more than so many words.
pub const NUDGE: usize = 3;

/// Where a word of a nudge goes; all zero if there is none.
#[derive(Debug, Default)]
#[repr(C)]
struct Place {
    address: AtomicU64,
    value: AtomicU64,
    bytes: AtomicU64,
}

/// A word of a nudge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Where it is to be written.
    pub address: u64,
    /// What is to be written.
    pub value: u64,
    /// Its length: 4 or 8.
    pub bytes: u64,
}

/// Where to send a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Address of the agent's code.
    pub code: u64,
    /// Address of the [`Frame`], which the thread's stack pointer is to be.
    pub frame: u64,
}

/// What a thread needs to go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Frame {
    /// Its stack pointer.
    pub stack_pointer: u64,
    /// The instruction that it goes on with: its system call.
    pub code: u64,
    /// The number of the system call, for the register that has it.
    pub call: u64,
    /// The agent's: what is to be set to 0 when nobody is there any more.
    pub flag: u64,
    /// The signals that the thread has blocked. All are while it is sent.
    pub blocked: u64,
    /// 1 if a signal that is handled meanwhile makes the call fail as interrupted, whatever the handler was set up with.
    pub fails_if_handled: u64,
}

impl Frame {
    /// In words.
    pub const WORDS: usize = 6;

    /// As it lies in memory.
    pub fn words(&self) -> [u64; Self::WORDS] {
        let Frame { stack_pointer, code, call, flag, blocked, fails_if_handled } = *self;
        [stack_pointer, code, call, flag, blocked, fails_if_handled]
    }
}

const _: () = assert!(size_of::<Frame>() == 8 * Frame::WORDS);

/// What has come of an errand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Outcome {
    /// The thread is still at it.
    Pending = 0,
    /// What could be done is done.
    Done = 1,
    /// The thread is in the runtime, or has nothing to do with it: there is nothing that it may do.
    Within = 2,
    /// The thread has not said where it is: it has waited since before it could.
    Unknown = 3,
    /// The process is in a sandbox.
    Sandbox = 4,
}

impl Outcome {
    const ALL: [Outcome; 5] =
        [Outcome::Pending, Outcome::Done, Outcome::Within, Outcome::Unknown, Outcome::Sandbox];
}

impl Errand {
    /// The agent's: threads can be sent there from now on.
    pub fn offer(&self, way: Way) {
        self.frame.store(way.frame, Ordering::Relaxed);
        self.code.store(way.code, Ordering::Release);
    }

    /// The agent's: what has the runtime come to a place where wishes are looked for.
    pub fn offer_nudge(&self, words: [Word; NUDGE]) {
        for (place, word) in self.nudge.iter().zip(words) {
            place.value.store(word.value, Ordering::Relaxed);
            place.bytes.store(word.bytes, Ordering::Relaxed);
            place.address.store(word.address, Ordering::Release);
        }
    }

    /// What is to be written while the process stands still; nothing if it takes no nudges.
    pub fn nudge(&self) -> impl Iterator<Item = Word> {
        let word = |place: &Place| Word {
            address: place.address.load(Ordering::Acquire),
            value: place.value.load(Ordering::Relaxed),
            bytes: place.bytes.load(Ordering::Relaxed),
        };
        self.nudge.iter().map(word).filter(|word| word.address != 0 && matches!(word.bytes, 4 | 8))
    }

    /// Whether the agent has said where.
    #[inline]
    pub fn is_offered(&self) -> bool {
        self.code.load(Ordering::Relaxed) != 0
    }

    /// The recorder's: where to send a thread. There is room for one at a time; it is to be [abandoned](Self::abandon) if
    /// none is sent.
    pub fn begin(&self) -> Option<Way> {
        let code = self.code.load(Ordering::Acquire);
        if code == 0 || self.is_under_way.swap(1, Ordering::AcqRel) != 0 {
            return None;
        }
        self.outcome.store(Outcome::Pending as u32, Ordering::Relaxed);
        Some(Way { code, frame: self.frame.load(Ordering::Relaxed) })
    }

    /// Nobody was sent.
    pub fn abandon(&self) {
        self.is_under_way.store(0, Ordering::Release);
    }

    /// The agent's: what has come of it.
    pub fn end(&self, outcome: Outcome) {
        self.outcome.store(outcome as u32, Ordering::Release);
    }

    /// What has come of the last one.
    pub fn outcome(&self) -> Outcome {
        let word = self.outcome.load(Ordering::Acquire) as usize;
        Outcome::ALL.get(word).copied().unwrap_or(Outcome::Unknown)
    }

    /// Set while a thread is sent; the thread sets it to 0 as the last thing it does.
    pub fn flag(&self) -> *const AtomicU32 {
        &raw const self.is_under_way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time() {
        let (errand, way) = (Errand::default(), Way { code: 5, frame: 6 });
        assert!(errand.begin().is_none() && !errand.is_offered());
        errand.offer(way);
        assert_eq!((errand.begin(), errand.begin()), (Some(way), None));
        assert_eq!(errand.outcome(), Outcome::Pending);
        for outcome in Outcome::ALL {
            errand.end(outcome);
            assert_eq!(errand.outcome(), outcome);
        }
        errand.abandon();
        assert_eq!((errand.begin(), errand.outcome()), (Some(way), Outcome::Pending));
    }

    #[test]
    fn a_nudge_is_what_was_offered() {
        let errand = Errand::default();
        assert_eq!(errand.nudge().count(), 0);
        let word = |address| Word { address, value: address + 1, bytes: 8 };
        errand.offer_nudge([word(8), word(16), word(24)]);
        assert!(errand.nudge().eq([word(8), word(16), word(24)]));
        errand.offer_nudge([word(8), word(0), Word { bytes: 9, ..word(24) }]);
        assert!(errand.nudge().eq([word(8)]));
    }

    #[test]
    fn a_frame_lies_as_the_agent_reads_it() {
        let frame =
            Frame { stack_pointer: 1, code: 2, call: 3, flag: 4, blocked: 5, fails_if_handled: 6 };
        assert_eq!(frame.words(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(core::mem::offset_of!(Frame, flag), 24);
    }
}
