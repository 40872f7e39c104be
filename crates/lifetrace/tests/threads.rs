//! Sessions that start and stop while 64 threads allocate.

mod support;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use lifetrace::{Alloc, Recording};
use support::Trace;
use support::workload::{workload_kept, workload_of_all_kinds, workload_short_lived};

#[global_allocator]
static ALLOC: Alloc = Alloc::system();

const THREADS: usize = 64;
const SESSIONS: u64 = 1000;

#[test]
fn sessions_start_and_stop_a_thousand_times_while_threads_allocate() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("again.lt");
    let (is_over, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut samples = 0;
    let (give, take) = mpsc::channel();
    let take = Mutex::new(take);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let (give, take, is_over, rounds) = (give.clone(), &take, &is_over, &rounds);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    workload_of_all_kinds(10);
                    // Blocks die in other threads, and often in a later session.
                    give.send(workload_kept(10)).unwrap();
                    drop(take.lock().unwrap().recv().unwrap());
                    rounds.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
        }
        for number in 0..SESSIONS {
            // Few have much to write, which takes its time.
            let is_dense = number.is_multiple_of(20);
            let interval = if is_dense { 64 } else { 4 << 20 };
            let recording = Recording::new(&path).interval(interval).overwrite(true);
            let session = recording.counters(None).start().unwrap();
            std::thread::sleep(Duration::from_millis(if is_dense { 20 } else { number % 3 }));
            samples += session.stop().unwrap().samples;
        }
        is_over.store(true, Ordering::Relaxed);
    });
    println!("{samples} samples, {} rounds", rounds.load(Ordering::Relaxed));
    assert!(samples > 1000 && rounds.load(Ordering::Relaxed) > 0, "{samples} samples");
    // And then as ever.
    let session = Recording::new(&path).interval(1).overwrite(true).start().unwrap();
    let account = workload_short_lived(1000);
    session.stop().unwrap();
    let trace = Trace::read(&path);
    let heard: u64 = trace.by("workload_short_lived").map(|block| block.bytes).sum();
    assert_eq!(heard, account.bytes);
    assert!(trace.by("workload_short_lived").all(|block| !block.is_live));
}
