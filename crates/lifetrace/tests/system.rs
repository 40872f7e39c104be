//! Sessions of a program whose allocator is the system's.

mod support;

use std::sync::mpsc::{TryRecvError, channel};

use lifetrace::{Alloc, Error, Recording};
use support::workload::{workload_kept, workload_of_all_kinds, workload_short_lived};
use support::{Trace, turn};

#[global_allocator]
static ALLOC: Alloc = Alloc::system();

#[test]
fn everything_is_exact_at_rate_1() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exact.lt");
    let session = Recording::new(&path).interval(1).start().unwrap();
    let account = workload_short_lived(3000);
    let kept = workload_kept(500);
    workload_of_all_kinds(2000);
    let summary = session.stop().unwrap();
    assert_eq!((summary.path.as_ref(), &summary.lost[..]), (Some(&path), &[][..]));
    let trace = Trace::read(&path);
    assert!(trace.is_complete);
    assert_eq!(summary.samples, trace.blocks.len() as u64);
    assert_eq!(summary.bytes, std::fs::metadata(&path).unwrap().len());
    let short: Vec<_> = trace.by("workload_short_lived").collect();
    assert_eq!(short.len() as u64, account.blocks);
    assert_eq!(short.iter().map(|block| block.bytes).sum::<u64>(), account.bytes);
    assert!(short.iter().all(|block| !block.is_live && block.hits == block.bytes.div_ceil(8)));
    let heard: u64 = trace.by("workload_one_kept").map(|block| block.bytes).sum();
    assert_eq!(heard, kept.iter().map(|block| block.len() as u64).sum::<u64>());
    assert_eq!(trace.by("workload_one_kept").filter(|block| block.is_live).count(), 500);
    // Of each round a block, its growth, what is left of it when it shrinks, and another one.
    let kinds: Vec<_> = trace.by("workload_of_all_kinds").collect();
    assert_eq!(kinds.iter().filter(|block| block.is_growth).count(), 2000);
    assert!(kinds.len() >= 6000 && kinds.iter().all(|block| !block.is_live));
    drop(kept);
}

#[test]
fn estimates_are_true() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sampled.lt");
    let session = Recording::new(&path).interval(4096).seed(7).start().unwrap();
    let account = workload_short_lived(200_000);
    session.stop().unwrap();
    let trace = Trace::read(&path);
    let (estimate, deviation) = trace.estimate("workload_short_lived");
    let off = (estimate - account.bytes as f64).abs() / deviation;
    assert!(off < 4.0, "{estimate} of {} bytes, {off} standard deviations", account.bytes);
    assert!(trace.by("workload_short_lived").count() > 5000);
}

#[test]
fn backtraces_begin_with_who_allocates() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.lt");
    let session = Recording::new(&path).interval(1).start().unwrap();
    drop(workload_kept(10));
    session.stop().unwrap();
    let trace = Trace::read(&path);
    let block = trace.by("workload_one_kept").next().unwrap();
    assert!(block.functions.iter().any(|name| name.contains("backtraces_begin")), "{block:?}");
    let inner = block.functions.iter().rev().take_while(|name| !name.contains("workload_one_kept"));
    let inner: Vec<_> = inner.collect();
    assert!(!inner.iter().any(|name| name.contains("lifetrace_")), "{inner:#?}");
    println!("{inner:#?}");
}

#[test]
fn sessions_come_one_after_the_other() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let paths = [1, 2].map(|number| folder.path().join(format!("{number}.lt")));
    let first = lifetrace::record(&paths[0]).unwrap();
    let error = lifetrace::record(&paths[1]).unwrap_err();
    assert!(matches!(&error, Error::Active(path) if *path == paths[0]), "{error}");
    assert!(!paths[1].exists());
    first.stop().unwrap();
    drop(lifetrace::record(&paths[1]).unwrap());
    assert!(Trace::read(&paths[0]).is_complete && Trace::read(&paths[1]).is_complete);
    let error = lifetrace::record(&paths[1]).unwrap_err();
    assert!(error.to_string().contains("is not overwritten"), "{error}");
    drop(Recording::new(&paths[1]).overwrite(true).start().unwrap());
}

#[test]
fn paused_sessions_hear_nothing() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("paused.lt");
    let session = Recording::new(&path).interval(1).start().unwrap();
    session.pause();
    std::thread::sleep(std::time::Duration::from_millis(200));
    workload_short_lived(1000);
    session.resume();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let kept = workload_kept(10);
    session.stop().unwrap();
    let trace = Trace::read(&path);
    assert_eq!(trace.by("workload_short_lived").count(), 0);
    assert_eq!(trace.by("workload_one_kept").count(), kept.len());
}

#[test]
fn a_rate_that_changes_keeps_estimates_true() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changing.lt");
    // What begins so waits for a recorder that other programs keep from its work.
    let session = Recording::new(&path).interval(1).seed(11).start().unwrap();
    session.set_interval(1 << 16).unwrap();
    let mut bytes = 0;
    let (others, wait) = channel::<()>();
    let other = std::thread::spawn(move || {
        let mut bytes = 0;
        while wait.try_recv() == Err(TryRecvError::Empty) {
            bytes += workload_short_lived(1000).bytes;
        }
        bytes
    });
    for interval in [1024, 1 << 20, 4096, 256, 1 << 14] {
        session.set_interval(interval).unwrap();
        bytes += workload_short_lived(40_000).bytes;
    }
    assert!(matches!(session.set_rate(2.0), Err(Error::Rate(_))));
    drop(others);
    bytes += other.join().unwrap();
    let summary = session.stop().unwrap();
    assert_eq!(summary.lost, []);
    let trace = Trace::read(&path);
    let rates: std::collections::BTreeSet<u64> =
        trace.blocks.iter().map(|block| block.rate.to_bits()).collect();
    assert!(rates.len() >= 5, "{} rates", rates.len());
    let (estimate, deviation) = trace.estimate("workload_short_lived");
    let off = (estimate - bytes as f64).abs() / deviation;
    assert!(off < 4.0, "{estimate} of {bytes} bytes, {off} standard deviations");
}
