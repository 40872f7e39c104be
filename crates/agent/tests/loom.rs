//! Every order in which threads can come upon the phases, tried by a model checker: `cargo xtask loom`.
//!
//! The session that a phase stands for is a cell that notices when one thread changes it while
//! another uses it.
#![cfg(loom)]

use lifetrace_agent::phase::machine::{Machine, Phase, Word};
use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

/// The checker's word, with the orderings of the real one.
struct Checked(AtomicU32);

impl Word for Checked {
    fn load(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    fn store(&self, value: u32) {
        self.0.store(value, Ordering::Release);
    }

    fn replace(&self, old: u32, new: u32) -> bool {
        self.0.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Session {
    None,
    Parents,
    Own,
}

/// A page that the kernel has wiped, or a fresh one.
const WIPED: u32 = 0;
const FRESH: u32 = 1;

/// A process, as far as the phases are concerned.
struct Process {
    machine: Machine<Checked>,
    session: UnsafeCell<Session>,
    starts: AtomicU32,
    mark: AtomicU32,
}

impl Process {
    fn new(phase: Phase, session: Session, mark: u32) -> Arc<Process> {
        let process = Process {
            machine: Machine::new(Checked(AtomicU32::new(phase as u32))),
            session: UnsafeCell::new(session),
            starts: AtomicU32::new(0),
            mark: AtomicU32::new(mark),
        };
        Arc::new(process)
    }

    /// What a thread does at the end of a countdown; whether it recorded something.
    fn sample(&self, can_connect: bool) -> bool {
        if self.look() && self.machine.claim_start().is_some() {
            self.start(can_connect);
        }
        let records = self.look() && self.machine.phase() == Phase::Recording;
        if records {
            // SAFETY: read while the phase says that it is there; the checker tells if that is wrong.
            let session = self.session.with(|session| unsafe { *session });
            assert_eq!(session, Session::Own);
        }
        records
    }

    /// Finds out about a fork, as `phase::current` does; false while another thread is busy with it.
    fn look(&self) -> bool {
        let is_forked = || self.mark.load(Ordering::Relaxed) == WIPED;
        if self.machine.phase() != Phase::Recording || !is_forked() {
            return true;
        }
        let claimed = self.machine.claim_fork(is_forked);
        if claimed {
            self.change_session(Session::Parents, Session::None);
            self.machine.settle(Phase::Forked);
        }
        claimed
    }

    fn start(&self, can_connect: bool) {
        self.starts.fetch_add(1, Ordering::Relaxed);
        if !can_connect {
            return self.machine.settle(Phase::Off);
        }
        self.change_session(Session::None, Session::Own);
        self.mark.store(FRESH, Ordering::Relaxed);
        self.machine.settle(Phase::Recording);
    }

    fn change_session(&self, from: Session, to: Session) {
        // SAFETY: by who has claimed the phase; the checker tells if somebody else is there.
        self.session.with_mut(|session| unsafe {
            assert_eq!(*session, from);
            *session = to;
        });
    }

    fn starts(&self) -> u32 {
        self.starts.load(Ordering::Relaxed)
    }
}

/// Three threads do it at once, in every order in which none is interrupted more than twice
/// altogether: all orders of three threads are too many.
fn three_at_once(process: fn() -> Arc<Process>, each: fn(&Process), then: fn(&Process)) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || together(process(), 3, each, then));
}

/// Two threads do it at once, in every order.
fn two_at_once(process: fn() -> Arc<Process>, each: fn(&Process), then: fn(&Process)) {
    loom::model(move || together(process(), 2, each, then));
}

fn together(process: Arc<Process>, threads: usize, each: fn(&Process), then: fn(&Process)) {
    let start = |_| {
        let process = Arc::clone(&process);
        thread::spawn(move || each(&process))
    };
    let others: Vec<_> = (1..threads).map(start).collect();
    each(&process);
    others.into_iter().for_each(|other| other.join().unwrap());
    then(&process);
}

fn sample(process: &Process) {
    process.sample(true);
}

fn unborn() -> Arc<Process> {
    Process::new(Phase::Unborn, Session::None, FRESH)
}

fn forked() -> Arc<Process> {
    Process::new(Phase::Recording, Session::Parents, WIPED)
}

#[test]
fn of_threads_that_start_at_once_one_does() {
    for at_once in [two_at_once, three_at_once] {
        at_once(unborn, sample, |process| {
            assert_eq!((process.starts(), process.machine.phase()), (1, Phase::Recording));
        });
    }
}

#[test]
fn a_start_that_fails_is_not_tried_again() {
    for at_once in [two_at_once, three_at_once] {
        at_once(
            unborn,
            |process| assert!(!process.sample(false)),
            |process| {
                assert_eq!((process.starts(), process.machine.phase()), (1, Phase::Off));
            },
        );
    }
}

/// Whoever comes too early leaves the start to others, and no two are at it at the same time.
#[test]
fn a_postponed_start_is_somebody_elses() {
    loom::model(|| {
        let process = unborn();
        let early = Arc::clone(&process);
        let early = thread::spawn(move || {
            if early.machine.claim_start().is_some() {
                early.change_session(Session::None, Session::None);
                early.machine.settle(Phase::Unborn);
            }
        });
        process.sample(true);
        early.join().unwrap();
        process.sample(true);
        assert_eq!((process.starts(), process.machine.phase()), (1, Phase::Recording));
    });
}

/// In the child of a raw `clone` that has started threads before one of them found out.
#[test]
fn threads_of_a_forked_child_leave_the_parent_once_and_start_once() {
    for at_once in [two_at_once, three_at_once] {
        at_once(forked, sample, |process| {
            process.sample(true);
            assert_eq!((process.starts(), process.machine.phase()), (1, Phase::Recording));
        });
    }
}

/// The recorder's end is seen by some while others still start: it cannot be undone, nor end what
/// has not begun.
#[test]
fn the_end_of_a_session_is_not_that_of_a_start() {
    loom::model(|| {
        let process = unborn();
        let other = Arc::clone(&process);
        let other = thread::spawn(move || other.machine.end(false));
        process.sample(true);
        let phase = process.machine.phase();
        other.join().unwrap();
        assert!(matches!(phase, Phase::Recording | Phase::Off), "{phase:?}");
        process.machine.end(false);
        assert!(!process.sample(true));
        assert_eq!((process.starts(), process.machine.phase()), (1, Phase::Off));
    });
}

/// Two threads find the recorder gone at once: one of them says so, and one of two that look for the next one begins.
#[test]
fn a_late_start_is_claimed_once() {
    loom::model(|| {
        let process = Process::new(Phase::Recording, Session::Own, FRESH);
        let other = Arc::clone(&process);
        let look = |process: &Process| {
            let has_ended = process.machine.end(true);
            (has_ended, process.machine.claim_late_start())
        };
        let other = thread::spawn(move || look(&other));
        let [one, another] = [look(&process), other.join().unwrap()];
        assert!(one.0 != another.0, "the end is noticed once");
        assert!(one.1 != another.1, "there is one start");
        assert_eq!(process.machine.phase(), Phase::Starting);
    });
}
