//! The phases as one word, on which all threads agree.
//!
//! ```text
//!            claim_start           settle
//!  Unborn ──────────────▶ Starting ─────────▶ Recording ─── end ───▶ Off
//!    ▲                    │  ▲  │ settle       │
//!    └────── settle ──────┘  │  └─▶ Forked, Off│
//!  Forked ──── claim_start ──┴── claim_fork ───┘
//! ```
//!
//! Where a recorder may come later, or go and come again, the phase is `Waiting` instead of `Off`; from there a thread
//! starts anew by `claim_late_start`.
//!
//! A program that has the agent linked in starts anew after an end: from `Off`, by `claim_restart`.
//!
//! `Starting` belongs to the one thread that brought it about: nobody else changes the phase until
//! that thread settles it. Whatever it did before (mapped a session, let go of one) is seen by all
//! who see the phase that it settled on.
//!
//! Nothing here knows what a session is, and the word is generic: `tests/loom.rs` has a model checker
//! try every order in which threads may come.

use core::sync::atomic::{AtomicU32, Ordering};

use lifetrace_transport::handshake::Origin;

/// See the drawings, here and in the crate's comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    /// Nobody has looked for a recorder yet.
    Unborn = 0,
    /// A thread is doing so, or leaves the session of the process that it was forked from.
    Starting = 1,
    /// A session is open.
    Recording = 2,
    /// A fork of a recorded process, which has not looked for the recorder yet.
    Forked = 3,
    /// As if we were not there.
    Off = 4,
    /// There is no recorder now; one may come.
    Waiting = 5,
}

/// An atomic word.
pub trait Word {
    /// Acquires.
    fn load(&self) -> u32;
    /// Releases.
    fn store(&self, value: u32);
    /// Stores `new` where it finds `old`; whether it did. Acquires and releases if so.
    fn replace(&self, old: u32, new: u32) -> bool;
}

impl Word for AtomicU32 {
    #[inline]
    fn load(&self) -> u32 {
        AtomicU32::load(self, Ordering::Acquire)
    }

    fn store(&self, value: u32) {
        AtomicU32::store(self, value, Ordering::Release);
    }

    fn replace(&self, old: u32, new: u32) -> bool {
        self.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// The phase of the process, as one word; what moves it from one phase to another is atomic.
#[derive(Debug)]
pub struct Machine<W = AtomicU32>(W);

impl<W: Word> Machine<W> {
    /// A machine on a word that is 0.
    pub const fn new(unborn: W) -> Self {
        Machine(unborn)
    }

    /// The phase now.
    #[inline]
    pub fn phase(&self) -> Phase {
        match self.0.load() {
            0 => Phase::Unborn,
            1 => Phase::Starting,
            2 => Phase::Recording,
            3 => Phase::Forked,
            5 => Phase::Waiting,
            _ => Phase::Off,
        }
    }

    /// Takes the right to start, and says why there is one; `None` if this is not the time.
    pub fn claim_start(&self) -> Option<Origin> {
        if self.change(Phase::Unborn, Phase::Starting) {
            Some(Origin::Exec)
        } else if self.change(Phase::Forked, Phase::Starting) {
            Some(Origin::Fork)
        } else {
            None
        }
    }

    /// Takes the right to start, for the first time or once more after an end; false in all other
    /// phases.
    pub fn claim_restart(&self) -> bool {
        self.change(Phase::Off, Phase::Starting) || self.change(Phase::Unborn, Phase::Starting)
    }

    /// Takes the right to look for a recorder once more.
    pub fn claim_late_start(&self) -> bool {
        self.change(Phase::Waiting, Phase::Starting)
    }

    /// Takes the right to leave the parent's session, in a child that may have other threads by now.
    ///
    /// Where several find out at once, one is first, and may be recording anew before another gets
    /// here: so `is_forked` is asked again, when nobody else can change the answer.
    pub fn claim_fork(&self, is_forked: impl Fn() -> bool) -> bool {
        if !self.change(Phase::Recording, Phase::Starting) {
            return false;
        }
        let still_forked = is_forked();
        if !still_forked {
            self.settle(Phase::Recording);
        }
        still_forked
    }

    /// Goes from `Starting` on to `phase`: for the thread that claimed it, or is the only one.
    pub fn settle(&self, phase: Phase) {
        self.0.store(phase as u32);
    }

    /// The recorder has ended the session, or is gone; whether it is this call that has brought the new phase about.
    pub fn end(&self, may_begin_again: bool) -> bool {
        let after = if may_begin_again { Phase::Waiting } else { Phase::Off };
        self.change(Phase::Recording, after)
    }

    fn change(&self, from: Phase, to: Phase) -> bool {
        self.0.replace(from as u32, to as u32)
    }
}
