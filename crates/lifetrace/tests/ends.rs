//! How programs end, and what their traces are like then.
//!
//! Each child records itself at rate 1, keeps some blocks, and ends in its own way.

mod support;

use std::hint::black_box;
use std::process::Output;
use std::sync::Mutex;
use std::time::Duration;

use lifetrace::{Alloc, Recording, Session};
use support::workload::{workload_kept, workload_short_lived};
use support::{Trace, child, in_folder, success};

#[global_allocator]
static ALLOC: Alloc = Alloc::system();

/// A session that nobody drops.
static SESSION: Mutex<Option<Session>> = Mutex::new(None);

const KEPT: u64 = 200;

/// What is written is no older, in a trace of some seconds.
const WRITTEN: Duration = Duration::from_secs(3);

/// Runs a child, and reads its trace.
fn run(name: &str) -> (Output, Trace) {
    let folder = tempfile::tempdir().unwrap();
    let output = child(name, folder.path()).output().unwrap();
    (output, Trace::read(&folder.path().join("child.lt")))
}

fn start() {
    let session = Recording::new(in_folder("child.lt")).interval(1).start().unwrap();
    *SESSION.lock().unwrap() = Some(session);
    workload_short_lived(1000);
    std::mem::forget(workload_kept(KEPT));
}

fn all_is_there(trace: &Trace) {
    assert_eq!(trace.by("workload_short_lived").filter(|block| !block.is_live).count(), 1000);
    assert_eq!(trace.by("workload_one_kept").filter(|block| block.is_live).count(), KEPT as usize);
}

#[test]
fn a_program_that_returns_has_a_complete_trace() {
    let (output, trace) = run("child_returns");
    success(output);
    all_is_there(&trace);
    assert!(trace.is_complete);
}

#[test]
#[ignore = "run by its parent"]
fn child_returns() {
    start();
}

#[test]
fn exit_leaves_a_complete_trace() {
    let (output, trace) = run("child_exits");
    assert_eq!(output.status.code(), Some(7));
    all_is_there(&trace);
    assert!(trace.is_complete);
}

#[test]
#[ignore = "run by its parent"]
fn child_exits() {
    start();
    // Other threads go on while the program exits, in a function of their own.
    let allocate = || loop {
        drop(black_box(Box::new([0u8; 40])));
    };
    let _threads = [std::thread::spawn(allocate), std::thread::spawn(allocate)];
    std::process::exit(7);
}

#[test]
fn a_panic_leaves_a_complete_trace() {
    let (output, trace) = run("child_panics");
    assert_eq!(output.status.code(), Some(101));
    all_is_there(&trace);
    assert!(trace.is_complete);
}

#[test]
#[ignore = "run by its parent"]
fn child_panics() {
    start();
    panic!("as it should");
}

#[test]
fn abort_leaves_what_was_written() {
    let (output, trace) = run("child_aborts");
    assert_eq!(output.status.code(), None);
    all_is_there(&trace);
    assert!(!trace.is_complete);
}

#[test]
#[ignore = "run by its parent"]
fn child_aborts() {
    start();
    std::thread::sleep(WRITTEN);
    std::process::abort();
}

#[test]
fn a_kill_leaves_what_was_written() {
    let (output, trace) = run("child_is_killed");
    assert_eq!(output.status.code(), None);
    all_is_there(&trace);
    assert!(!trace.is_complete);
}

#[test]
#[ignore = "run by its parent"]
fn child_is_killed() {
    start();
    let until = std::time::Instant::now() + WRITTEN;
    while std::time::Instant::now() < until {
        // What is allocated meanwhile may be in the trace or not.
        std::hint::black_box(Box::new(1));
        std::thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: the end.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
}

#[test]
fn what_destructors_of_threads_allocate_is_heard() {
    let (output, trace) = run("child_allocates_in_destructors");
    success(output);
    assert_eq!(trace.by("LastWords").filter(|block| block.is_live).count(), 20);
    assert!(trace.is_complete);
}

#[test]
#[ignore = "run by its parent"]
fn child_allocates_in_destructors() {
    struct LastWords;

    impl Drop for LastWords {
        fn drop(&mut self) {
            std::mem::forget(std::hint::black_box(vec![7u8; 100]));
            drop(std::hint::black_box(vec![7u8; 100]));
        }
    }

    thread_local!(static LAST_WORDS: LastWords = const { LastWords });
    let session = Recording::new(in_folder("child.lt")).interval(1).start().unwrap();
    for _ in 0..10 {
        let threads = [(); 2].map(|()| std::thread::spawn(|| LAST_WORDS.with(|_| {})));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
    session.stop().unwrap();
}

#[test]
fn a_forked_child_leaves_its_parents_trace_alone() {
    let folder = tempfile::tempdir().unwrap();
    success(child("child_forks", folder.path()).output().unwrap());
    let trace = Trace::read(&folder.path().join("child.lt"));
    let short = trace.by("workload_short_lived").filter(|block| !block.is_live);
    assert_eq!(short.count(), 1000 + 4 * 20_000);
    assert_eq!(trace.by("in_the_child").count(), 0);
    assert!(trace.is_complete && trace.by("after_the_fork").count() > 0);
    let child = Trace::read(&folder.path().join("grandchild.lt"));
    assert!(child.is_complete && child.by("in_the_child").count() > 50);
    assert_eq!(child.by("workload_one_kept").count(), 50);
}

#[test]
#[ignore = "run by its parent"]
fn child_forks() {
    start();
    let kept = workload_kept(100);
    let threads = [(); 4].map(|()| std::thread::spawn(|| workload_short_lived(20_000)));
    for round in 0..10 {
        // SAFETY: the child uses no lock that another thread may have held; its allocator is glibc's, which
        // sees to it.
        match unsafe { libc::fork() } {
            0 => in_the_child(kept, round == 9),
            pid => {
                let mut status = 0;
                // SAFETY: writes one status.
                assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
                assert_eq!(status, 0, "round {round}");
            }
        }
    }
    after_the_fork();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[inline(never)]
fn after_the_fork() {
    std::hint::black_box(vec![1u8; 100]);
}

#[inline(never)]
fn in_the_child(kept: Vec<Box<[u8]>>, records_itself: bool) -> ! {
    let inherited = SESSION.lock().unwrap().take().unwrap();
    assert!(inherited.stop().is_err());
    workload_short_lived(1000);
    drop(kept);
    if records_itself {
        let session = Recording::new(in_folder("grandchild.lt")).interval(1).start().unwrap();
        let kept = workload_kept(50);
        drop(kept);
        session.stop().unwrap();
    }
    // SAFETY: without the exit handlers that are the parent's.
    unsafe { libc::_exit(0) }
}
