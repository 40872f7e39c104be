//! Programs that find a recorder in another process, as static ones do under `lifetrace record`.

mod support;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use lifetrace::{Alloc, Error, Recording};
use lifetrace_recorder::{
    Collector, CollectorOptions, Format, Introduction, MOST_FRAMES, Outcome, Output, Rate, Rates,
    Schedule, Socket, SourceChoice,
};
use support::workload::{workload_kept, workload_short_lived};
use support::{Trace, child, in_folder, success};

#[global_allocator]
static ALLOC: Alloc = Alloc::system();

fn options(folder: &Path) -> CollectorOptions {
    CollectorOptions {
        output: Output::Files(folder.join("outside.%p.lt").into()),
        format: Format::Lt,
        overwrite: false,
        sources: SourceChoice::Native,
        rates: Rates::all(Rate::EXACT),
        stack_limit: MOST_FRAMES,
        seed: 1,
        follow_children: true,
        schedule: Schedule::default(),
        max_size: None,
        counters: None,
        labels: Vec::new(),
        keep_empty: true,
        native_frames: false,
        small_objects: true,
        snapshots: lifetrace_recorder::SnapshotPlan::default(),
        looks_for_lost: false,
        standing: None,
        introduction: Introduction::default(),
    }
}

/// Runs a child with a recorder that it can find.
fn run(name: &str, folder: &Path) -> (ExitStatus, Outcome) {
    let socket = Socket::bind().unwrap();
    let mut command: Command = child(name, folder);
    command.env("LIFETRACE_SOCKET", socket.path());
    let collector = Collector::start(socket, &options(folder), None).unwrap();
    let output = command.output().unwrap();
    println!("{}", String::from_utf8_lossy(&output.stderr));
    (output.status, collector.finish())
}

#[test]
fn the_other_process_writes_the_trace_to_the_end_of_a_killed_one() {
    let folder = tempfile::tempdir().unwrap();
    let (status, outcome) = run("child_is_killed", folder.path());
    assert_eq!(status.signal(), Some(libc::SIGKILL));
    let [report] = &outcome.sessions[..] else { panic!("{outcome:?}") };
    let trace = Trace::read(&report.path);
    // Exact, though the program has asked for less: it is the recorder's to say.
    assert_eq!(trace.by("workload_one_kept").filter(|block| block.is_live).count(), 1000);
    assert_eq!(trace.by("workload_short_lived").count(), 500);
    assert!(trace.is_complete && report.lost.is_empty());
    assert!(!folder.path().join("own.lt").exists());
}

#[test]
#[ignore = "run by its parent"]
fn child_is_killed() {
    let session = Recording::new(in_folder("own.lt")).start().unwrap();
    assert!(session.is_elsewhere() && session.snapshot().is_none());
    assert!(matches!(session.set_interval(8), Err(Error::Over)));
    session.pause();
    let kept = workload_kept(1000);
    workload_short_lived(500);
    // SAFETY: the end.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    drop(kept);
}

#[test]
fn sessions_may_come_again_and_end_well() {
    let folder = tempfile::tempdir().unwrap();
    let (status, outcome) = run("child_has_two_sessions", folder.path());
    assert!(status.success());
    let traces = outcome.sessions.iter().map(|report| Trace::read(&report.path));
    let counts: Vec<_> = traces.map(|trace| trace.by("workload_short_lived").count()).collect();
    assert_eq!(counts, [100, 300], "{outcome:?}");
}

#[test]
#[ignore = "run by its parent"]
fn child_has_two_sessions() {
    for blocks in [100, 300] {
        let session = Recording::new(in_folder("own.lt")).start().unwrap();
        workload_short_lived(blocks);
        let summary = session.stop().unwrap();
        assert_eq!((summary.path, summary.samples), (None, 0));
        workload_short_lived(50);
    }
}

#[test]
fn an_address_where_nobody_is_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = child("child_records_itself", folder.path());
    command.env("LIFETRACE_SOCKET", folder.path().join("nobody"));
    success(command.output().unwrap());
    let trace = Trace::read(&folder.path().join("own.lt"));
    assert!(trace.is_complete);
    assert_eq!(trace.by("workload_short_lived").count(), 200);
}

#[test]
#[ignore = "run by its parent"]
fn child_records_itself() {
    let session = Recording::new(in_folder("own.lt")).interval(1).start().unwrap();
    assert!(!session.is_elsewhere());
    workload_short_lived(200);
    assert_eq!(session.stop().unwrap().lost, []);
}
