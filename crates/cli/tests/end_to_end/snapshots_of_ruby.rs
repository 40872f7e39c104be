//! Snapshots of Ruby programs that know what lives in them.

use std::collections::{BTreeSet, HashMap};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lifetrace_trace::fact::Fact;

use crate::support::fixture;
use crate::support::profile::facts_of;
use crate::support::ruby::ruby;
use crate::support::run::{Recording, Target, lifetrace_verb};
use crate::support::running::Running;
use crate::support::snapshot::{Block, Snapshot};

fn program(name: &str) -> Target {
    let file = fixture::source(&format!("ruby/{name}.rb"));
    ruby().arguments(&[file.to_str().unwrap()])
}

/// The one snapshot that a run has left.
fn snapshot(recording: &Recording) -> PathBuf {
    let files = recording.traces();
    let is_one = |path: &&PathBuf| path.extension().is_some_and(|it| it == "lth");
    let [path] = files.iter().filter(is_one).collect::<Vec<_>>()[..] else {
        panic!("{files:?} {:?}", recording.outcome);
    };
    path.clone()
}

/// What a dump of the machine's own tells.
fn imported(dump: &Path) -> Snapshot {
    let path = dump.with_extension("lth");
    let import = lifetrace_verb(&["import", "-o", path.to_str().unwrap(), dump.to_str().unwrap()]);
    assert_eq!(import.code, 0, "{import:?}");
    Snapshot::read(&path)
}

#[test]
fn what_is_held_is_there_to_the_object_and_all_is_as_the_machine_says_itself() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("heap.json");
    let target = program("held").arguments(&[dump.to_str().unwrap()]);
    let bare = target.bare();
    let recording = target.record(&["--snapshot-at-exit", "--rate", "0.01"]);
    assert_eq!(recording.outcome, bare);
    let snapshot = Snapshot::read(&snapshot(&recording));
    let held = snapshot.held_by(|_| true);
    for line in bare.stdout_text().lines() {
        let [what, class, count] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let found = snapshot.blocks.iter().zip(&held);
        let found = found.filter(|(block, is_held)| &*block.kind.name == class && **is_held);
        assert_eq!(found.count().to_string(), count, "{what} {class}");
    }
    check_same(&snapshot, &imported(&dump));
}

/// What is told of an object: its kind, its bytes, and which it refers to.
type Told<'a> = (&'a str, u64, BTreeSet<u64>);

fn told(snapshot: &Snapshot) -> HashMap<u64, Told<'_>> {
    let of = |block: &'_ Block| {
        let to = block.references.iter().map(|&to| snapshot.blocks[to as usize].address);
        to.collect()
    };
    let blocks = snapshot.blocks.iter();
    blocks.map(|block| (block.address, (&*block.kind.name, block.bytes, of(block)))).collect()
}

/// Both have the same objects, but for those that were made for the dump; and tell the same of them, but of those that
/// have changed since.
fn check_same(snapshot: &Snapshot, dump: &Snapshot) {
    let (ours, theirs) = (told(snapshot), told(dump));
    let missing = theirs.keys().filter(|at| !ours.contains_key(at)).count();
    let new = ours.keys().filter(|at| !theirs.contains_key(at)).count();
    let both = ours.iter().filter_map(|(at, it)| Some((it, theirs.get(at)?)));
    let differ: Vec<_> = both.filter(|(ours, theirs)| ours != theirs).collect();
    let changed: Vec<_> = differ.iter().map(|(ours, _)| (ours.0, ours.1)).collect();
    assert!(ours.len() > 5_000 && missing + new < 40, "{} {missing} {new}", ours.len());
    assert!(differ.len() < 20, "{changed:?}");
    let sum = |of: &HashMap<u64, Told<'_>>| of.values().map(|it| it.1).sum::<u64>();
    let changes = differ.iter().map(|(ours, theirs)| ours.1.abs_diff(theirs.1)).sum::<u64>();
    assert!(sum(&ours).abs_diff(sum(&theirs)) < changes + 40_000, "{changed:?}");
}

#[test]
fn a_program_that_runs_is_asked_and_its_samples_have_backtraces() {
    let running = Running::start(&program("churning").arguments(&["60"]), &["--rate", "0.01"]);
    for number in 1..=3 {
        let asked = running.snapshot(&[]);
        assert_eq!(asked.code, 0, "{asked:?}");
        let snapshot = Snapshot::read(&running.files()[number - 1]);
        assert_eq!((snapshot.header.number as usize, &*snapshot.header.runtime), (number, "Ruby"));
        assert!(snapshot.outcome.pause_ns > 0 && snapshot.outcome.cpu_ns > 0);
        let held = snapshot.blocks.iter().zip(snapshot.held_by(|_| true));
        let kept = held.filter(|(it, is_held)| &*it.kind.name == "Kept" && *is_held).count();
        assert_eq!(kept, 20_000);
        check_samples(&snapshot);
    }
}

/// The samples of what is kept, each with its weight, make that up; each lies at an object of the class, and has the
/// method that keeps it in its backtrace.
fn check_samples(snapshot: &Snapshot) {
    let held =
        snapshot.blocks.iter().zip(snapshot.held_by(|_| true)).filter(|(_, is_held)| *is_held);
    let class: HashMap<u64, &str> = held.map(|(it, _)| (it.address, &*it.kind.name)).collect();
    let mut weights = Vec::new();
    for sample in &snapshot.samples {
        if class.get(&sample.address.0) == Some(&"Kept") {
            let frames = &snapshot.sites[sample.site.0 as usize].frames;
            assert!(frames.iter().any(|frame| frame.function.contains("keep_one")), "{frames:?}");
            assert!(frames.iter().all(|frame| !frame.function.starts_with("[class")), "{frames:?}");
            weights.push(sample.weight);
        }
    }
    let deviation = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
    let sum: f64 = weights.iter().sum();
    assert!((sum - 2e4).abs() < 5.0 * deviation, "{sum} of {} samples", weights.len());
}

#[test]
fn a_program_that_waits_is_woken_and_goes_on_waiting() {
    for place in ["read", "select", "accept"] {
        let mut running = Running::start(&program("waiting").arguments(&[place]), &[]);
        // One that is not woken never answers; how long a busy machine takes is not for a test to say.
        for _ in 0..20 {
            let asked = running.snapshot(&["-q", "--wait", "60s"]);
            assert_eq!((asked.code, asked.stderr_text().as_str()), (0, ""), "{place}");
        }
        assert_eq!(running.files().len(), 20);
        assert_eq!(running.say("a line"), "a line\n", "{place}");
        assert_eq!(running.finish(), (Some(0), String::new()), "{place}");
    }
}

/// In 3.1 a thread that sleeps waits in a system call, which can be interrupted; later on none does.
#[test]
fn a_program_that_sleeps_is_woken_or_told_of() {
    let running = Running::start(&program("waiting").arguments(&["sleep"]), &[]);
    let is_asked = running.snapshot(&["--wait", "1500ms"]);
    let is_late = is_asked.code == 1 && is_asked.stderr_text().contains("it waits for something");
    assert!(is_asked.code == 0 || is_late, "{is_asked:?}");
    assert_eq!(running.finish(), (Some(0), "slept\n".to_owned()));
}

#[test]
fn a_server_answers_as_ever_while_a_hundred_snapshots_are_taken() {
    let mut running = Running::start(&program("server"), &["--rate", "0.01"]);
    let port: u16 = running.said.trim().parse().unwrap();
    let done = AtomicBool::new(false);
    let answered = std::thread::scope(|scope| {
        let asking = scope.spawn(|| (0..).take_while(|&number| ask(port, number, &done)).count());
        for _ in 0..100 {
            let asked = running.snapshot(&["-q"]);
            assert_eq!((asked.code, asked.stderr_text().as_str()), (0, ""));
        }
        done.store(true, Ordering::Relaxed);
        asking.join().unwrap()
    });
    assert!(answered > 100, "{answered}");
    assert_eq!(running.files().len(), 100);
    let answers = running.say("stop").trim().parse::<usize>().unwrap();
    assert!(answers > answered, "{answers}");
    assert_eq!(running.finish(), (Some(0), String::new()));
}

/// Whether there is more to be asked, after an answer that must be right.
fn ask(port: u16, number: usize, done: &AtomicBool) -> bool {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(240))).unwrap();
    writeln!(stream, "{number}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, format!("{}\n", number * number));
    !done.load(Ordering::Relaxed)
}

#[test]
fn snapshots_that_nobody_asks_for() {
    let every = ["--snapshot-every", "300ms", "--snapshot-after-gc", "1"];
    let recording = program("churning").arguments(&["2"]).record(&every);
    let files = recording.traces();
    let snapshots = files.iter().filter(|path| path.extension().is_some_and(|it| it == "lth"));
    let causes: Vec<_> =
        snapshots.map(|path| Snapshot::read(path).header.cause.to_string()).collect();
    assert!(causes.iter().any(|cause| cause == "every so often"), "{causes:?}");
    assert!(causes.iter().any(|cause| cause == "after a collection"), "{causes:?}");
}

#[test]
fn a_program_with_ractors_is_told_why_there_is_none() {
    let running = Running::start(&program("several").arguments(&["-q"]), &[]);
    let asked = running.snapshot(&["--wait", "3s"]);
    assert_eq!(asked.code, 1, "{asked:?}");
    assert!(asked.stderr_text().contains("has made a ractor"), "{asked:?}");
}

#[test]
fn what_was_to_be_taken_at_the_end_and_was_not_is_told() {
    let recording = program("ractors").record(&["--snapshot-at-exit"]);
    let notice = Fact::Notice("ruby-snapshot-with-ractors".into());
    assert!(facts_of(&recording.traces()[0]).contains(&notice), "{:?}", recording.outcome);
    assert!(recording.outcome.stderr_text().contains("was not taken"), "{:?}", recording.outcome);
}
