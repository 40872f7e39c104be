//! Sessions that start and stop while threads allocate and free: no sampled block is freed by who does not
//! know it.

use lifetrace_agent::phase::machine::{Machine, Phase};
use lifetrace_agent::placed::{Count, Placed};
use loom::model::Builder;
use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};
use loom::sync::{Arc, Mutex};
use loom::thread;

use super::Checked;

/// The checker's count, with the orderings of the real one.
struct Checkable(AtomicUsize);

impl Count for Checkable {
    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, value: usize) {
        self.0.store(value, Ordering::Relaxed);
    }

    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn take(&self) -> usize {
        self.0.fetch_sub(1, Ordering::AcqRel)
    }

    fn fence() {
        fence(Ordering::SeqCst);
    }
}

/// A program's allocator: where its two calls lead, 1 for to us.
struct Program {
    machine: Machine<Checked>,
    placed: Placed<Checkable>,
    change: Mutex<()>,
    alloc: AtomicUsize,
    dealloc: AtomicUsize,
}

impl Program {
    fn new() -> Arc<Program> {
        let count = || Checkable(AtomicUsize::new(0));
        Arc::new(Program {
            machine: Machine::new(Checked(AtomicU32::new(Phase::Unborn as u32))),
            placed: Placed::new(count(), count()),
            change: Mutex::new(()),
            alloc: AtomicUsize::new(0),
            dealloc: AtomicUsize::new(0),
        })
    }

    /// A session from start to end.
    fn session(&self) {
        self.change(|| {
            self.placed.want();
            self.dealloc.store(1, Ordering::Release);
        });
        assert!(self.machine.claim_restart());
        self.machine.settle(Phase::Recording);
        self.change(|| self.alloc.store(1, Ordering::Release));
        self.change(|| self.alloc.store(0, Ordering::Release));
        self.machine.end();
        self.placed.want_no_more();
        self.rest_if_possible();
    }

    /// Allocates a block, a sampled one if it is to be, and frees it.
    fn pair(&self) {
        if self.alloc.load(Ordering::Relaxed) == 0 {
            return;
        }
        fence(Ordering::Acquire);
        self.placed.claim();
        if self.machine.phase() == Phase::Recording {
            assert_eq!(self.dealloc.load(Ordering::Relaxed), 1, "freed by who does not know it");
        }
        if self.placed.release() {
            self.rest_if_possible();
        }
    }

    fn rest_if_possible(&self) {
        self.change(|| {
            if self.placed.may_be_forgotten() {
                self.dealloc.store(0, Ordering::Release);
            }
        });
    }

    fn change(&self, work: impl FnOnce()) {
        let _held = self.change.lock().unwrap();
        work();
    }
}

/// Tries all orders of a thread of sessions and others that allocate so many pairs each.
fn check(sessions: usize, allocators: usize, pairs: usize) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let program = Program::new();
        let threads: Vec<_> = (0..allocators)
            .map(|_| {
                let program = Arc::clone(&program);
                thread::spawn(move || {
                    (0..pairs).for_each(|_| program.pair());
                })
            })
            .collect();
        (0..sessions).for_each(|_| program.session());
        threads.into_iter().for_each(|thread| {
            thread.join().unwrap();
        });
        program.rest_if_possible();
        // Nothing is left, and so nothing costs anything.
        assert_eq!(program.dealloc.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn one_who_places_and_one_who_ends_see_each_other() {
    check(1, 1, 2);
}

#[test]
fn who_was_late_for_a_session_does_not_harm_the_next() {
    check(2, 1, 2);
}

#[test]
fn several_threads_allocate() {
    check(1, 2, 1);
}
