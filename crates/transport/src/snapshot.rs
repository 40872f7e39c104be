//! Snapshots of a managed heap: how the recorder asks for one, and what the agent says to that in shared memory.
//!
//! The recorder puts a *token* into the [`Wish`]. The agent takes it where its runtime's heap is whole, and forks a child,
//! which connects to the recorder's socket, says hello with the token ([`Hello::Snapshot`](crate::handshake::Hello)), and
//! sends what it finds, in the form of [`stream`](crate::stream). Then the child ends; the recorder closes the connection.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A wish for a snapshot: the first four fields are the recorder's, the others the agent's.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Wish {
    /// 0 if there is none.
    token: AtomicU64,
    /// How much memory the child may take for itself, in bytes.
    memory: AtomicU64,
    /// Nanoseconds for which the program was stopped for the last one; 0 until that is known.
    pause: AtomicU64,
    answer: AtomicU32,
}

/// What an agent says to a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Answer {
    /// Nothing yet.
    None = 0,
    /// A child was forked, and is at work.
    Begun = 1,
    /// The system has refused to fork.
    NoChild = 2,
    /// What the runtime exports is not enough to find its roots.
    UnknownRuntime = 3,
    /// A place of the runtime's was not as it should be: nothing is done on a guess.
    Unsound = 4,
    /// Several parts of the program run at the same time, and cannot be stopped together.
    Parallel = 5,
}

impl Answer {
    const ALL: [Answer; 6] = [
        Answer::None,
        Answer::Begun,
        Answer::NoChild,
        Answer::UnknownRuntime,
        Answer::Unsound,
        Answer::Parallel,
    ];
}

/// A wish that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// By which the recorder knows the child again.
    pub token: u64,
    /// How much memory the child may take for itself, in bytes.
    pub memory: u64,
}

impl Wish {
    /// Asks for a snapshot, by a child that takes no more than so many bytes for itself. The token is not 0.
    pub fn ask(&self, taken: Taken) {
        self.answer.store(Answer::None as u32, Ordering::Relaxed);
        self.pause.store(0, Ordering::Relaxed);
        self.memory.store(taken.memory, Ordering::Relaxed);
        self.token.store(taken.token, Ordering::Release);
    }

    /// Takes back what nobody has taken; whether nobody has.
    pub fn withdraw(&self, token: u64) -> bool {
        let (acquire, relaxed) = (Ordering::AcqRel, Ordering::Relaxed);
        self.token.compare_exchange(token, 0, acquire, relaxed).is_ok()
    }

    /// Whether somebody waits; costs a load.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.token.load(Ordering::Relaxed) != 0
    }

    /// For the agent, where it can be fulfilled. One that is taken is to be answered.
    pub fn take(&self) -> Option<Taken> {
        let token = self.token.swap(0, Ordering::Acquire);
        (token != 0).then(|| Taken { token, memory: self.memory.load(Ordering::Relaxed) })
    }

    /// The agent's answer, and for how many nanoseconds the program was stopped.
    pub fn answer(&self, answer: Answer, pause_nanos: u64) {
        self.pause.store(pause_nanos, Ordering::Relaxed);
        self.answer.store(answer as u32, Ordering::Release);
    }

    /// The agent takes a snapshot without being asked: 0 before that, then for how many nanoseconds the program was stopped.
    pub fn note_pause(&self, pause_nanos: u64) {
        self.pause.store(pause_nanos, Ordering::Relaxed);
    }

    /// What the agent has answered to the last wish, and for how many nanoseconds the program was stopped: 0 while it
    /// is, or if there was no snapshot. The child may have sent all it has before its parent goes on.
    pub fn answered(&self) -> (Answer, u64) {
        let word = self.answer.load(Ordering::Acquire);
        let answer = Answer::ALL.get(word as usize).copied().unwrap_or(Answer::Unsound);
        (answer, self.pause.load(Ordering::Relaxed))
    }
}

/// What an agent is to do without being asked. The recorder writes it before the agent has the segment.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Standing {
    /// A token, or 0, each.
    at_exit: AtomicU64,
    after_collections: AtomicU64,
    collections: AtomicU64,
    memory: AtomicU64,
}

impl Standing {
    /// One is wanted when the program ends, known by this token.
    pub fn want_at_exit(&self, taken: Taken) {
        self.memory.store(taken.memory, Ordering::Relaxed);
        self.at_exit.store(taken.token, Ordering::Release);
    }

    /// One is wanted after each so many collections of the old heap, known by this token.
    pub fn want_after_collections(&self, collections: u64, taken: Taken) {
        self.memory.store(taken.memory, Ordering::Relaxed);
        self.collections.store(collections.max(1), Ordering::Relaxed);
        self.after_collections.store(taken.token, Ordering::Release);
    }

    /// Whether one is wanted when the program ends.
    pub fn at_exit(&self) -> Option<Taken> {
        self.taken(&self.at_exit)
    }

    /// After how many collections of the old heap one is wanted each time.
    #[inline]
    pub fn after_collections(&self) -> Option<(u64, Taken)> {
        let taken = self.taken(&self.after_collections)?;
        Some((self.collections.load(Ordering::Relaxed), taken))
    }

    #[inline]
    fn taken(&self, token: &AtomicU64) -> Option<Taken> {
        let token = token.load(Ordering::Acquire);
        (token != 0).then(|| Taken { token, memory: self.memory.load(Ordering::Relaxed) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_taken_once_and_answered() {
        let (wish, taken) = (Wish::default(), Taken { token: 7, memory: 4096 });
        assert!(!wish.is_pending() && wish.take().is_none());
        wish.ask(taken);
        assert!(wish.is_pending());
        assert_eq!((wish.take(), wish.take()), (Some(taken), None));
        assert_eq!(wish.answered().0, Answer::None);
        for answer in Answer::ALL {
            wish.answer(answer, 12);
            assert_eq!(wish.answered(), (answer, 12));
        }
        wish.ask(taken);
        assert_eq!(wish.answered(), (Answer::None, 0));
        assert!(wish.withdraw(7) && !wish.withdraw(7) && !wish.is_pending());
    }

    #[test]
    fn what_is_wanted_without_being_asked() {
        let (standing, taken) = (Standing::default(), |token| Taken { token, memory: 5 });
        assert_eq!((standing.at_exit(), standing.after_collections()), (None, None));
        standing.want_at_exit(taken(1));
        standing.want_after_collections(3, taken(2));
        assert_eq!(standing.at_exit(), Some(taken(1)));
        assert_eq!(standing.after_collections(), Some((3, taken(2))));
    }
}
