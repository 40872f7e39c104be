//! Commands that are started without an agent: their ends, and what is refused before.

use super::*;
use crate::format::Format;
use crate::rate::{Rate, Rates};
use crate::runtimes::SourceChoice;
use crate::schedule::Schedule;

fn options(directory: &tempfile::TempDir) -> CollectorOptions {
    CollectorOptions {
        output: directory.path().join("t.ctf").into_os_string().into(),
        format: Format::Lt,
        labels: Vec::new(),
        keep_empty: true,
        native_frames: false,
        small_objects: true,
        snapshots: crate::snapshots::SnapshotPlan::default(),
        looks_for_lost: false,
        standing: None,
        introduction: crate::plan::Introduction::default(),
        overwrite: false,
        sources: SourceChoice::Native,
        rates: Rates::all(Rate::EXACT),
        stack_limit: 100,
        seed: 1,
        follow_children: true,
        schedule: Schedule::default(),
        max_size: None,
        counters: None,
    }
}

/// As [`Recording::start`] does, but with a library that the dynamic linker passes over in silence.
fn start(script: &str) -> Recording {
    let directory = tempfile::tempdir().unwrap();
    start_with(script, &options(&directory))
}

fn start_with(script: &str, options: &CollectorOptions) -> Recording {
    let program = Program::find("sh".as_ref(), None).unwrap();
    let socket = Socket::bind().unwrap();
    let additions = Additions::Agent { preload: "".into(), socket: socket.path().to_owned() };
    let command = ["sh", "-c", script].map(OsString::from);
    let pid = spawn(&program, &command, &additions).unwrap();
    Recording::attend(pid, socket, options).unwrap()
}

fn check(script: &str, expected: CommandEnd) {
    let recording = start(script);
    assert_eq!(recording.wait_for_command(), expected);
    assert!(recording.wait_for_others(None));
    let outcome = recording.finish();
    assert!(outcome.sessions.is_empty() && outcome.refusals.is_empty());
}

#[test]
fn ends_of_commands() {
    check("exit 0", CommandEnd::Exited(0));
    check("exit 255", CommandEnd::Exited(255));
    check("kill -KILL $$", CommandEnd::Killed(9));
    check("kill -SEGV $$", CommandEnd::Killed(11));
}

#[test]
fn signals_reach_the_command() {
    let recording = start("trap 'exit 7' TERM; kill -STOP $$; while :; do :; done");
    wait_until_stopped(recording.pid());
    recording.control().forward(15);
    recording.control().forward(18);
    assert_eq!(recording.wait_for_command(), CommandEnd::Exited(7));
    recording.control().forward(15);
    recording.control().forward(-3);
}

fn wait_until_stopped(pid: u32) {
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    while !state().contains(") T ") {
        std::thread::yield_now();
    }
}

#[test]
fn a_stop_leaves_the_command_alone() {
    let recording = start("kill -STOP $$");
    let pid = recording.pid;
    recording.control().stop();
    assert_eq!(recording.wait_for_command(), CommandEnd::Abandoned);
    recording.finish();
    rustix::process::test_kill_process(pid).unwrap();
    kill(pid);
}

#[test]
fn a_schedule_ends_the_recording_and_not_the_command() {
    let directory = tempfile::tempdir().unwrap();
    let duration = Some(std::time::Duration::from_millis(1));
    let schedule = Schedule { duration, ..Schedule::default() };
    let options = CollectorOptions { schedule, ..options(&directory) };
    let recording = start_with("kill -STOP $$", &options);
    assert_eq!(recording.wait_for_command(), CommandEnd::Abandoned);
    recording.finish();
    recording.control().forward(9);
    assert_eq!(recording.accompany_command(), CommandEnd::Killed(9));
}

#[test]
fn what_is_refused_before_the_command_runs() {
    let directory = tempfile::tempdir().unwrap();
    let refuse = |command: &[&str], options: CollectorOptions| {
        let command = command.iter().map(OsString::from).collect();
        Recording::start(&Config { command, preload: b"", options }).unwrap_err()
    };
    let error = refuse(&[], options(&directory));
    assert!(matches!(error, StartError::Launch(LaunchError::Empty)));
    let error = refuse(&["no-such-command"], options(&directory));
    assert!(matches!(error, StartError::Launch(LaunchError::NotFound(_))));
    let output = directory.path().join("no/t.ctf").into_os_string();
    let error = refuse(&["sh"], CollectorOptions { output: output.into(), ..options(&directory) });
    assert!(matches!(error, StartError::Output(OutputError::Io { .. })));
    std::fs::write(directory.path().join("t.ctf"), "precious").unwrap();
    let error = refuse(&["sh"], options(&directory));
    assert!(matches!(error, StartError::Output(OutputError::Exists(_))));
}
