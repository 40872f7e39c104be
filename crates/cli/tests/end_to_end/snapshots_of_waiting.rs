//! Snapshots of OCaml programs that wait in the kernel, and go on as if nothing had been.

use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use crate::support::ocaml;
use crate::support::running::Running;
use crate::support::snapshot::Snapshot;

/// As many snapshots of each program.
fn times() -> usize {
    std::env::var("LIFETRACE_SNAPSHOTS").map_or(5, |times| times.parse().unwrap())
}

/// What a program by another compiler than the system's does while snapshots are taken of it.
pub fn check_waiting(program: &Path, has_loops: bool) {
    read_with(program, &["read"]);
    read_with(program, &["read-beside-sleep", "1"]);
    sleep_with(program);
    interrupt(program);
    if has_loops {
        compute(program);
    }
}

fn native() -> PathBuf {
    ocaml::native("waiting")
}

fn start(program: &Path, arguments: &[&str]) -> Running {
    Running::of(program, arguments, &[])
}

/// Takes a snapshot that has the program's list.
fn take(running: &Running) {
    let path = running.folder.path().join("taken.lth");
    // It is to be there within a second; how long a busy machine takes is not for a test to say.
    let asked = running.snapshot(&["-f", "-q", "--wait", "60s", "-o", path.to_str().unwrap()]);
    assert_eq!((asked.code, asked.stderr_text()), (0, String::new()));
    let snapshot = Snapshot::read(&path);
    let is_cell = |block: &&_| is_cell(block);
    assert!(snapshot.blocks.iter().filter(is_cell).count() >= 100_000);
}

fn is_cell(block: &crate::support::snapshot::Block) -> bool {
    block.bytes == 3 * 8 && &*block.kind.name == "tag 0"
}

#[test]
fn one_that_sleeps_sleeps_no_longer() {
    sleep_with(&native());
}

fn sleep_with(program: &Path) {
    // Each may take a second on a busy machine, and some of them come when it has slept.
    let seconds = (4 + times()).to_string();
    for arguments in [["sleep", &seconds], ["select", &seconds]] {
        let running = start(program, &arguments);
        (0..times()).for_each(|_| take(&running));
        let (code, said) = running.end();
        let expected = if arguments[0] == "sleep" { "slept true\n" } else { "selected 0 true\n" };
        assert_eq!((code, &*said), (Some(0), expected));
    }
}

/// What `waiting.ml` says of these bytes.
fn sum(bytes: &[u8]) -> String {
    let sum = bytes.iter().fold(7u64, |sum, &byte| (sum * 31 + u64::from(byte)) & 0xff_ffff);
    format!("read {}, sum {sum}\n", bytes.len())
}

fn read_with(program: &Path, arguments: &[&str]) {
    let mut running = start(program, arguments);
    let mut told = Vec::new();
    for number in 0..times() {
        take(&running);
        let piece = format!("piece {number} of what is told");
        running.tell(piece.as_bytes());
        told.extend(piece.into_bytes());
    }
    drop(running.recorder.stdin.take());
    let (code, said) = running.end();
    assert_eq!(code, Some(0));
    assert!(said.contains(&sum(&told)), "{said}, not {}", sum(&told));
}

#[test]
fn one_that_reads_gets_every_byte() {
    read_with(&native(), &["read"]);
}

#[test]
fn threads_that_wait_beside_each_other() {
    read_with(&native(), &["read-beside-sleep", "1"]);
}

/// The one that waits is sent, and gets the runtime when the other has to give it up.
#[test]
fn a_thread_that_waits_beside_one_that_runs() {
    read_with(&native(), &["read-beside-loop", "1"]);
}

#[test]
fn one_that_accepts_is_connected_to() {
    let mut running = start(&native(), &["accept"]);
    let port: u16 = running.line().trim().trim_start_matches("port ").parse().unwrap();
    (0..times()).for_each(|_| take(&running));
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    take(&running);
    connection.write_all(b"hello").unwrap();
    assert_eq!(running.end(), (Some(0), "accepted hello\n".to_owned()));
}

#[test]
fn one_that_waits_for_a_child_hears_of_its_end() {
    let mut running = start(&native(), &["wait"]);
    (0..times()).for_each(|_| take(&running));
    drop(running.recorder.stdin.take());
    assert_eq!(running.end(), (Some(0), "waited true\n".to_owned()));
}

/// What comes while the thread is away makes its `read` fail, as the program expects; if one were lost, the next would do.
#[test]
fn signals_are_heard() {
    interrupt(&native());
}

fn interrupt(program: &Path) {
    let signals = (100 * times()).to_string();
    let running = start(program, &["signals", &signals]);
    (0..times()).for_each(|_| take(&running));
    assert_eq!(running.end(), (Some(0), "interrupted true\n".to_owned()));
}

/// It is nudged, and looks up where a loop does.
#[test]
fn one_that_only_computes_computes_on() {
    compute(&native());
}

fn compute(program: &Path) {
    let seconds = times().to_string();
    let running = start(program, &["loop", &seconds]);
    (0..times()).for_each(|_| take(&running));
    assert_eq!(running.end(), (Some(0), "looped 0\n".to_owned()));
}

/// Somebody else has the thread: nothing is changed, and who it is is said.
#[test]
fn one_that_is_traced_is_left_alone() {
    let mut running = start(&native(), &["read"]);
    let mut strace = std::process::Command::new("strace");
    let process = running.pid.to_string();
    strace.args(["-p", &process, "-o", "/dev/null"]).stderr(std::process::Stdio::piped());
    let mut strace = strace.spawn().unwrap();
    let tracer = format!("process {} traces it", strace.id());
    while !std::fs::read_to_string(format!("/proc/{process}/status"))
        .unwrap()
        .contains(&format!("TracerPid:\t{}", strace.id()))
    {
        std::thread::yield_now();
    }
    let asked = running.snapshot(&["--wait", "500ms"]);
    strace.kill().unwrap();
    strace.wait().unwrap();
    assert!(asked.code == 1 && asked.stderr_text().contains(&tracer), "{asked:?}");
    running.tell(b"x");
    drop(running.recorder.stdin.take());
    assert_eq!(running.end(), (Some(0), sum(b"x")));
}

/// The recorder stays until a snapshot that was asked for is saved, and whoever has asked is told.
#[test]
fn one_that_is_killed_meanwhile_leaves_its_snapshot() {
    let running = Running::of(&ocaml::native("churning"), &["60"], &[]);
    let path = running.folder.path().join("taken.lth");
    let (pid, to) = (running.pid.to_string(), path.clone());
    let asking = std::thread::spawn(move || {
        crate::support::run::lifetrace_verb(&["snapshot", &pid, "-o", to.to_str().unwrap()])
    });
    // The file is there before the child is. Once there are blocks in it the child is at work, and what it has to say of a
    // million of them is not said yet.
    while std::fs::metadata(&path).map_or(0, |it| it.len()) < 16 << 10 {
        std::thread::yield_now();
    }
    let kill = std::process::Command::new("kill").args(["-9", &running.pid.to_string()]).status();
    assert!(kill.unwrap().success());
    let asked = asking.join().unwrap();
    assert_eq!(asked.code, 0, "{asked:?}");
    assert!(Snapshot::read(&path).blocks.len() >= 1_000_000);
}

/// There is no heap of objects; what is lost of what malloc gave is looked for.
#[test]
fn a_native_program_is_looked_through() {
    let options = ["--sources", "native"];
    let mut running = Running::of(&ocaml::native("waiting"), &["read"], &options);
    let asked = running.snapshot(&[]);
    assert_eq!(asked.code, 0, "{asked:?}");
    assert!(asked.stderr_text().contains("looked through for lost blocks"), "{asked:?}");
    running.tell(b"x");
    drop(running.recorder.stdin.take());
    let folder = running.folder.path().to_owned();
    let trace = folder.join(format!("t.{}.lt", running.pid));
    let kept = tempfile::NamedTempFile::new().unwrap();
    // The folder goes with the program.
    while running.recorder.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    std::fs::copy(trace, kept.path()).unwrap();
    let dump = crate::support::run::lifetrace_verb(&["dump", kept.path().to_str().unwrap()]);
    assert!(dump.stdout_text().contains("\tfact\tlooked"), "{dump:?}");
    let without = [&options[..], &["--no-leak-check"]].concat();
    let running = Running::of(&ocaml::native("waiting"), &["read"], &without);
    let asked = running.snapshot(&[]);
    assert_eq!(asked.code, 1, "{asked:?}");
    assert!(asked.stderr_text().contains("--sources native"), "{asked:?}");
}

/// Its environment does not tell of its recorder any more.
#[test]
fn one_that_has_written_over_its_environment() {
    let running = Running::of(&crate::support::fixture::c("retitled"), &[], &[]);
    let environment = std::fs::read(format!("/proc/{}/environ", running.pid)).unwrap();
    assert!(environment.iter().all(|&byte| byte == 0));
    let asked = running.snapshot(&[]);
    assert_eq!(asked.code, 0, "{asked:?}");
    assert!(asked.stderr_text().contains("looked through for lost blocks"), "{asked:?}");
    assert_eq!(running.finish(), (Some(0), String::new()));
    let own = std::process::id().to_string();
    let nobodys = crate::support::run::lifetrace_verb(&["snapshot", &own]);
    assert_eq!(nobodys.code, 1, "{nobodys:?}");
    assert!(nobodys.stderr_text().contains("is not recorded by"), "{nobodys:?}");
}
