//! What is live now, while the program runs on.

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lifetrace::{Alloc, Error, Recording, Session, Snapshot, pprof};
use support::profile::Profile;
use support::workload::{workload_kept, workload_of_all_kinds, workload_short_lived};
use support::{Trace, turn};

#[global_allocator]
static ALLOC: Alloc = Alloc::system();

/// A snapshot that has all that has happened: the recorder has had time to hear it.
fn settled(session: &Session) -> Snapshot {
    let deadline = Instant::now() + Duration::from_secs(60);
    let mark = session.snapshot().expect("under way").time();
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let (one, other) = (session.snapshot().unwrap(), session.snapshot().unwrap());
        let is_quiet = one.since(&other).is_none() || one.samples() == other.samples();
        if is_quiet && one.time() > mark + Duration::from_millis(300) {
            return other;
        }
        assert!(Instant::now() < deadline, "it does not come to rest");
    }
}

fn profile(snapshot: &Snapshot) -> Profile {
    Profile::decode(&snapshot.to_pprof().unwrap())
}

#[test]
fn at_rate_1_a_heap_without_a_file_is_exact() {
    let _turn = turn();
    let session = Recording::live().interval(1).start().unwrap();
    let account = workload_short_lived(3000);
    let kept = workload_kept(500);
    workload_of_all_kinds(1000);
    let first = settled(&session);
    let profile_of_first = profile(&first);
    let heap = &profile_of_first;
    assert_eq!(heap.types, ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]);
    assert_eq!((&*heap.shown_first, heap.period, heap.duration_nanos), ("inuse_space", 8, 0));
    assert_eq!(heap.sum("alloc_objects", "workload_short_lived"), account.blocks as i64);
    assert_eq!(heap.sum("alloc_space", "workload_short_lived"), account.bytes as i64);
    assert_eq!(heap.sum("inuse_objects", "workload_short_lived"), 0);
    let bytes: usize = kept.iter().map(|block| block.len()).sum();
    assert_eq!(heap.sum("inuse_objects", "workload_one_kept"), 500);
    assert_eq!(heap.sum("inuse_space", "workload_one_kept"), bytes as i64);
    // Growth is bytes, and no objects.
    assert_eq!(heap.sum("inuse_space", "workload_of_all_kinds"), 0);
    assert!(first.live().bytes >= bytes as f64 && first.lost() == 0);

    drop(kept);
    let between = settled(&session).since(&first).unwrap();
    let heap = profile(&between);
    assert_eq!(heap.sum("inuse_objects", "workload_one_kept"), -500);
    assert_eq!(heap.sum("inuse_space", "workload_one_kept"), -(bytes as i64));
    assert_eq!(heap.sum("alloc_objects", "workload_one_kept"), 0);
    assert!(heap.duration_nanos > 0);
    assert!(first.since(&between).is_none());

    let summary = session.stop().unwrap();
    assert_eq!((summary.path, summary.bytes), (None, 0));
    assert!(matches!(pprof::heap(), Err(Error::NoSession)));
}

#[test]
fn a_heap_has_what_the_trace_beside_it_has() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("both.lt");
    let session = Recording::new(&path).interval(4096).seed(3).start().unwrap();
    let account = workload_short_lived(100_000);
    let kept = workload_kept(5000);
    let snapshot = settled(&session);
    // Programs are run to decode them: not between the two, and not while all that allocates is sampled.
    let encoded = pprof::allocs().unwrap();
    session.stop().unwrap();
    let (heap, allocs) = (profile(&snapshot), Profile::decode(&encoded));
    let trace = Trace::read(&path);
    for function in ["workload_short_lived", "workload_one_kept"] {
        let (estimate, deviation) = trace.estimate(function);
        let found = heap.sum("alloc_space", function) as f64;
        // Classes of large blocks, and whole numbers.
        assert!((found - estimate).abs() <= estimate * 1e-4 + 1.0, "{found}, not {estimate}");
        assert!(deviation > 0.0);
    }
    let live = heap.sum("inuse_space", "workload_one_kept") as f64;
    let (estimate, _) = trace.estimate("workload_one_kept");
    assert!((live - estimate).abs() <= estimate * 1e-4 + 1.0, "{live}, not {estimate}");
    assert_eq!((&*allocs.shown_first, allocs.period), ("alloc_space", 4100));
    // Both are in whole numbers that add up, and what came between them may have moved one.
    let found = [&allocs, &heap].map(|it| it.sum("alloc_space", "short_lived"));
    assert!(found[0].abs_diff(found[1]) <= 2, "{found:?}");
    assert!(account.bytes > 0 && kept.len() == 5000);
}

/// Where everything is sampled, allocations wait for the recorder; a thread that looks must not have the
/// recorder wait for it meanwhile.
#[test]
fn whoever_looks_does_not_stop_the_world() {
    let _turn = turn();
    let session = Recording::live().interval(1).start().unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    workload_short_lived(100);
                }
            });
        }
        let lookers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let heap = profile(&session.snapshot().unwrap());
                        let live = heap.sum("inuse_objects", "workload_short_lived");
                        assert!((0..=4).contains(&live), "{live} live blocks of four threads");
                    }
                })
            })
            .collect();
        let results: Vec<_> = lookers.into_iter().map(|looker| looker.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        results.into_iter().for_each(|it| it.unwrap());
    });
    assert_eq!(session.snapshot().unwrap().lost(), 0);
}

#[test]
fn without_a_session_there_is_nothing_to_look_at() {
    let _turn = turn();
    assert!(lifetrace::snapshot().is_none());
    let session = Recording::live().start().unwrap();
    assert!(lifetrace::snapshot().is_some());
    let again = Recording::live().start().unwrap_err().to_string();
    assert!(again.contains("a session already: stop it first"), "{again}");
    drop(session);
    let refused = pprof::allocs().unwrap_err().to_string();
    assert!(refused.contains("Recording::live().start()"), "{refused}");
}
