//! Recordings that begin late, end early, or meet a disk that is full or slow; and sudden deaths.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lifetrace_recorder::{
    CollectorOptions, CommandEnd, Config, Format, MOST_FRAMES, Rate, Rates, Recording, Schedule,
    SourceChoice,
};
use lifetrace_trace::lt::{self, Item};
use lifetrace_trace::memtrace::Reader;

use crate::support::profile::{assert_complete, read_through};
use crate::support::run::{Outcome, Target, lifetrace};
use crate::support::{fixture, ledger};

fn steady(millis: &str) -> Target {
    Target::new(&[&fixture::c("steady")]).arguments(&[millis])
}

fn flood(count: &str) -> Target {
    Target::new(&[&fixture::c("flood")]).arguments(&[count])
}

/// The events of a trace that may still be written to, and the time of the last one.
fn events_so_far(bytes: &[u8]) -> (u64, Option<SystemTime>) {
    let mut reader = lt::Reader::open(bytes).unwrap();
    let (mut count, mut last) = (0, None);
    while let Ok(Some((time, item))) = reader.next() {
        if let Item::Event(_) = item {
            count += 1;
            last = Some(UNIX_EPOCH + Duration::from_micros(time.0));
        }
    }
    (count, last)
}

#[test]
fn nothing_is_sampled_before_the_delay() {
    for rate in [["--rate", "1"], ["--interval", "1KiB"]] {
        let target = flood("100000");
        let recording = target.record(&[&rate[..], &["--delay", "1h"]].concat());
        assert_eq!(recording.outcome, target.bare());
        assert_eq!(read_through(&recording.trace_of("flood")).samples, 0);
    }
}

#[test]
fn a_delayed_trace_begins_when_sampling_does() {
    let recording = steady("1500").record(&["--rate", "1", "--delay", "700ms"]);
    let trace = recording.trace_of("steady");
    let summary = read_through(&trace);
    assert!(summary.samples > 0);
    assert!(summary.duration < Duration::from_millis(1500), "{:?}", summary.duration);
    let reader = lt::Reader::open(File::open(&trace).unwrap()).unwrap();
    assert!(reader.info().runtime_params.starts_with("sampling began 0."), "{:?}", reader.info());
}

/// The program goes on until it sees what is said at the recording's end.
#[test]
fn the_program_goes_on_after_the_duration() {
    let folder = tempfile::tempdir().unwrap();
    let script = "until grep -q 'recording is over' told; do :; done; echo seen; exit 7";
    let command =
        format!("exec \"$0\" record -o %e.ctf --duration 300ms -- sh -c \"{script}\" 2> told");
    let mut shell = Command::new("timeout");
    shell.args(["300", "sh", "-c", &command, lifetrace()]).current_dir(folder.path());
    let outcome = Outcome::of(&mut shell);
    assert_eq!((outcome.code, outcome.stdout_text().as_str()), (7, "seen\n"), "{outcome:?}");
    for trace in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
        if trace.extension().is_some_and(|suffix| suffix == "ctf") {
            assert_complete(&trace);
        }
    }
}

#[test]
fn a_trace_ends_at_its_greatest_size() {
    let folder = tempfile::tempdir().unwrap();
    let target = flood("300000").folder(folder.path());
    let outcome = target.record_as(&["-o", "x.ctf", "--rate", "1", "--max-size", "100KiB"]);
    assert_eq!((outcome.code, outcome.stdout_text().as_str()), (0, "done\n"), "{outcome:?}");
    assert!(outcome.stderr_text().contains("by --max-size"), "{outcome:?}");
    let trace = folder.path().join("x.ctf");
    let length = trace.metadata().unwrap().len();
    assert!((50 << 10..=100 << 10).contains(&length), "{length}");
    assert!(read_through(&trace).samples > 1000);
    let reader = Reader::open(File::open(&trace).unwrap()).unwrap();
    assert!(reader.info().runtime_params.contains("102400 bytes"), "{:?}", reader.info());
}

#[test]
fn how_it_goes_is_shown_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let target = steady("2500").folder(folder.path());
    let told = target.record_as(&["-o", "x.ctf", "--rate", "1", "--progress"]).stderr_text();
    assert!(told.starts_with("\r\x1b[Klifetrace: 0:02, 1 process, "), "{told:?}");
    assert!(told.contains(", 0 lost\r\x1b[Klifetrace: x.ctf (process "), "{told:?}");
    let told = target.record_as(&["-f", "-o", "x.ctf", "--rate", "1"]).stderr_text();
    assert!(!told.contains('\r') && told.contains(" resident\n"), "{told:?}");
}

/// A program that was looked at once, at its beginning, says at its end how large it became.
#[test]
fn a_peak_between_two_looks_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let target = steady("300").folder(folder.path());
    let told = target.record_as(&["-o", "x.ctf", "--counters", "1h"]).stderr_text();
    assert!(
        told.contains("lifetrace: x.ctf (process ") && told.contains(" MiB resident\n"),
        "{told:?}"
    );
}

/// By the library, since no option pauses.
#[test]
fn a_pause_ends_the_samples_until_it_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let program = fixture::c("steady").into_os_string();
    let recording = Recording::start(&Config {
        command: vec![program, "60000".into()],
        preload: include_bytes!(env!("LIFETRACE_PRELOAD_LIBRARY")),
        options: CollectorOptions {
            output: folder.path().join("x.lt").into_os_string().into(),
            overwrite: false,
            sources: SourceChoice::Native,
            rates: Rates::all(Rate::EXACT),
            stack_limit: MOST_FRAMES,
            seed: 1,
            follow_children: true,
            schedule: Schedule::default(),
            max_size: None,
            counters: Some(Duration::from_millis(10)),
            format: Format::Lt,
            labels: Vec::new(),
            keep_empty: true,
            native_frames: false,
            small_objects: true,
            snapshots: lifetrace_recorder::SnapshotPlan::default(),
            looks_for_lost: false,
            standing: None,
            introduction: lifetrace_recorder::Introduction::default(),
        },
    })
    .unwrap();
    let control = recording.control();
    let samples = || control.figures().samples;
    until(|| samples() > 0);
    control.pause();
    let mut silent_since = (samples(), Instant::now());
    until(|| {
        if samples() != silent_since.0 {
            silent_since = (samples(), Instant::now());
        }
        silent_since.1.elapsed() > Duration::from_millis(300)
    });
    control.resume();
    until(|| samples() > silent_since.0);
    control.forward(9);
    assert_eq!(recording.wait_for_command(), CommandEnd::Killed(9));
    let outcome = recording.finish();
    assert!(outcome.sessions[0].lost.is_empty(), "{outcome:?}");
    assert_complete(&folder.path().join("x.lt"));
}

fn until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "it has not come to pass");
        std::thread::yield_now();
    }
}

#[test]
fn times_and_sizes_that_make_no_sense_are_refused() {
    for option in
        ["--delay=10", "--duration=soon", "--max-size=0", "--counters=1ms", "--counters=on"]
    {
        let outcome = Target::new(&["true"]).record_as(&[option]);
        assert_eq!((outcome.code, outcome.stdout.len()), (125, 0), "{option}: {outcome:?}");
    }
}

/// The disk is a small one of memory, in a mount namespace of its own.
#[test]
fn a_full_disk_ends_the_trace_and_not_the_program() {
    if !Command::new("unshare").args(["-m", "true"]).output().is_ok_and(|it| it.status.success()) {
        eprintln!("skipped: no leave to mount");
        return;
    }
    let (disk, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let script = "mount -t tmpfs -o size=64k none \"$1\" && cd \"$1\" || exit 99
        \"$0\" record -o x.ctf --rate 1 -- \"$3\" 300000; code=$?; cat x.ctf > \"$2/x.ctf\"; exit $code";
    let mut command = Command::new("timeout");
    command.args(["300", "unshare", "-m", "sh", "-c", script, lifetrace()]);
    let outcome = Outcome::of(command.args([disk.path(), kept.path(), &fixture::c("flood")]));
    assert_eq!((outcome.code, outcome.stdout_text().as_str()), (125, "done\n"), "{outcome:?}");
    assert!(outcome.stderr_text().contains("writing ended there"), "{outcome:?}");
    assert!(read_through(&kept.path().join("x.ctf")).samples > 1000);
}

/// Writing beyond the limit brings a signal that kills who is not prepared.
#[test]
fn a_limit_of_file_sizes_is_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "ulimit -f 2000; exec \"$0\" record -o x.ctf --interval 64 --seed 1 -- \"$1\" 2000000";
    let mut command = Command::new("timeout");
    command.args(["300", "bash", "-c", script, lifetrace()]).arg(fixture::c("flood"));
    let outcome = Outcome::of(command.current_dir(folder.path()));
    assert_eq!((outcome.code, outcome.stdout_text().as_str()), (125, "done\n"), "{outcome:?}");
    assert!(outcome.stderr_text().contains("File too large"), "{outcome:?}");
    assert!(read_through(&folder.path().join("x.ctf")).samples > 1000);
}

/// A pipe of which nobody reads until the program has ended: all that can wait is full by then.
#[test]
fn a_disk_that_takes_nothing_holds_nobody_up() {
    const O_NONBLOCK: i32 = 0o4000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ctf");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let mut pipe = File::options().read(true).custom_flags(O_NONBLOCK).open(&path).unwrap();
    let mut command = Command::new("timeout");
    command.args(["300", lifetrace(), "record", "--interval", "64", "-o"]).arg(&path).arg("--");
    command.arg(fixture::c("flood")).arg("2000000");
    let mut record =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("timeout can be run");
    let mut line = String::new();
    BufReader::new(record.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "done\n");

    let mut trace = Vec::new();
    loop {
        let is_over = record.try_wait().unwrap().is_some();
        match pipe.read_to_end(&mut trace) {
            Ok(_) if is_over => break,
            Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{error}"),
            _ => std::thread::yield_now(),
        }
    }
    let mut told = String::new();
    record.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(told.contains("lost") && told.contains("ring full"), "{told}");
    let mut reader = Reader::open(&trace[..]).unwrap();
    let mut events = 0u64;
    while reader.next().unwrap().is_some() {
        events += 1;
    }
    assert!(events > 10_000, "{events} events");
}

#[test]
fn a_killed_recorder_leaves_all_but_the_last_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let sockets = ["XDG_RUNTIME_DIR", "TMPDIR"].map(|name| (name, folder.path()));
    let recording =
        steady("4000").arguments(&["orphan"]).environment(&sockets).record(&["--rate", "1"]);
    let outcome = &recording.outcome;
    assert_eq!(outcome.code, 137, "{outcome:?}");
    let told = outcome.stdout_text();
    let [killed, "done"] = told.lines().collect::<Vec<_>>()[..] else { panic!("{outcome:?}") };
    let killed = UNIX_EPOCH + Duration::from_micros(killed.parse().unwrap());
    let (events, last) = events_so_far(&fs::read(recording.trace_of("steady")).unwrap());
    let missing = killed.duration_since(last.expect("there are events")).unwrap();
    assert!(
        events > 1000 && missing < Duration::from_secs(3),
        "{events} events, {missing:?} missing"
    );
}

/// Every block that the program has got is in the trace; the one that it was about to get may be.
#[test]
fn a_program_killed_at_any_moment_leaves_all_that_it_did() {
    for micros in (1..=20).map(|run| run * run * 397) {
        let folder = tempfile::tempdir().unwrap();
        let count = folder.path().join("count");
        let arguments = [&micros.to_string(), count.to_str().unwrap()];
        let target = Target::new(&[&fixture::c("sudden")]).arguments(&arguments);
        let recording = target.record(&["--rate", "1"]);
        assert_eq!(recording.outcome.code, 137, "{:?}", recording.outcome);
        let got = counted(&count);
        let heard =
            ledger::recorded(&recording.traces()).get("hazard_sudden").map_or(0, |it| it.blocks);
        assert!((got..=got + 1).contains(&heard), "{heard} of {got} blocks, {micros} us");
    }
}

fn counted(file: &Path) -> i64 {
    i64::from_ne_bytes(fs::read(file).unwrap().try_into().unwrap())
}
