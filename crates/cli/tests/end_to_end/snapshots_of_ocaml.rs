//! Snapshots of OCaml programs that know what lives in them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use lifetrace_trace::lth::Root;

use crate::support::ocaml;
use crate::support::run::{Recording, Target, lifetrace_verb};
use crate::support::running::Running;
use crate::support::snapshot::Snapshot;

/// The snapshots that a run has left, in the order in which they were taken.
pub fn snapshots(recording: &Recording) -> Vec<PathBuf> {
    let files = recording.traces();
    files.into_iter().filter(|path| path.extension().is_some_and(|it| it == "lth")).collect()
}

/// Records the program with a snapshot at its end, and checks that nothing else has changed.
pub fn at_exit(program: &Path) -> Recording {
    let target = Target::new(&[program]);
    let (bare, recording) =
        (target.bare(), target.record(&["--snapshot-at-exit", "--rate", "1e-3"]));
    assert_eq!((recording.outcome.code, &recording.outcome.stdout), (bare.code, &bare.stdout));
    assert_eq!(recording.outcome.stderr_text(), "");
    recording
}

/// What `held.ml` says of itself is so.
pub fn check_held(program: &Path) {
    let recording = at_exit(program);
    let [ref path] = snapshots(&recording)[..] else { panic!("{:?}", recording.traces()) };
    let snapshot = Snapshot::read(path);
    for line in recording.outcome.stdout_text().lines() {
        let (what, rest) = line.split_once(' ').unwrap();
        match (what, rest.split_once(' ')) {
            ("there", Some((length, by))) => check_there(&snapshot, number(length), by),
            ("gone", None) => assert!(of_length(&snapshot, number(rest)).is_empty(), "{line}"),
            ("retains", Some((_, words))) => check_table(&snapshot, number(words)),
            ("outside", None) => check_outside(&snapshot, number(rest)),
            _ => panic!("{line}"),
        }
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

/// The blocks of bytes of that length: with a header and one byte at least that says how many of the last word count.
pub fn of_length(snapshot: &Snapshot, length: u64) -> Vec<usize> {
    let bytes = (length / 8 + 2) * 8;
    let is_it = |at: &usize| {
        let block = &snapshot.blocks[*at];
        block.bytes == bytes && &*block.kind.name == "string"
    };
    (0..snapshot.blocks.len()).filter(is_it).collect()
}

/// There is one, and it is held by roots of that sort, and by those alone if it is not by globals.
fn check_there(snapshot: &Snapshot, length: u64, by: &str) {
    let [block] = of_length(snapshot, length)[..] else {
        panic!("{length}: {:?}", of_length(snapshot, length));
    };
    let is_by = |category: &str| match by {
        "stack" => matches!(category, "stack" | "stack of thread 0"),
        "stacks of other threads" => {
            category == by || (category.starts_with("stack of ") && !category.ends_with(" 0"))
        }
        by => category == by,
    };
    assert!(snapshot.held_by(|root| is_by(&root.category))[block], "{length} is not held by {by}");
    let others = snapshot.held_by(|root| !is_by(&root.category));
    assert!(by == "globals" || !others[block], "{length} is not held by {by} alone");
}

/// What can be reached from some block takes so many words.
fn check_table(snapshot: &Snapshot, words: u64) {
    let reaches = |from: u64| {
        let reached = snapshot.reached([from]);
        let blocks = snapshot.blocks.iter().zip(reached).filter(|(_, is_reached)| *is_reached);
        blocks.map(|(block, _)| block.bytes).sum::<u64>()
    };
    let tables = snapshot.blocks.iter().zip(0..).filter(|(block, _)| block.bytes == 5 * 8);
    assert!(tables.map(|(_, number)| reaches(number)).any(|bytes| bytes == words * 8));
}

/// A bigarray and a part of it have their memory together.
fn check_outside(snapshot: &Snapshot, bytes: u64) {
    let arrays = snapshot.blocks.iter().filter(|block| &*block.kind.name == "bigarray");
    let outside: Vec<u64> = arrays.map(|block| block.outside).collect();
    assert_eq!((outside.len(), outside.iter().sum::<u64>()), (2, bytes), "{outside:?}");
}

#[test]
fn what_is_held_is_there_and_nothing_else() {
    check_held(&ocaml::native("held"));
}

#[test]
fn a_stripped_program_is_known_as_well() {
    check_held(&ocaml::stripped("held"));
}

/// The thread and the frame on whose stack the only thing is that is told to be `by`, which has its line there.
fn on_stacks(snapshot: &Snapshot, printed: &str, by: &str) -> Vec<(String, String)> {
    let lengths = printed.lines().filter_map(|line| {
        let (length, its) = line.strip_prefix("there ")?.split_once(' ')?;
        (its == by).then(|| number(length))
    });
    let mut found = Vec::new();
    for length in lengths {
        let [block] = of_length(snapshot, length)[..] else { panic!("{length}") };
        let roots = snapshot.roots.iter().filter(|(_, to)| *to == block as u64);
        let named = roots.map(|(root, _)| (root.category.to_string(), root.name.clone()));
        found.extend(named.map(|(category, name)| (category, name.unwrap().to_string())));
    }
    found.sort();
    found.dedup();
    found
}

/// What `held.ml` has on the stacks of its threads is told by thread and frame.
pub fn check_stacks(program: &Path) {
    let recording = at_exit(program);
    let [ref path] = snapshots(&recording)[..] else { panic!("{:?}", recording.traces()) };
    let (snapshot, printed) = (Snapshot::read(path), recording.outcome.stdout_text());
    let source = include_str!("../../../../fixtures/targets/ocaml/held.ml");
    let line = |code: &str| 1 + source.lines().position(|line| line.contains(code)).unwrap();
    let main = format!("Held.on_stack (held.ml:{})", line("  work ();"));
    let other = format!("Held.in_thread (held.ml:{})", line("do Condition.wait never start"));
    let is_in = |(category, name): &(String, String), thread: &str, frame: &str| {
        category == thread && name.replace("Dune__exe__", "").replace("ocaml/", "") == frame
    };
    let found = on_stacks(&snapshot, &printed, "stack");
    assert!(found.iter().any(|it| is_in(it, "stack of thread 0", &main)), "{found:?} {main}");
    let found = on_stacks(&snapshot, &printed, "stacks of other threads");
    for thread in ["stack of thread 1", "stack of thread 2"] {
        assert!(found.iter().any(|it| is_in(it, thread, &other)), "{found:?} {other}");
    }
    // The way over each stack was the runtime's own.
    let is_vague = |category: &str| matches!(category, "stack" | "stacks of other threads");
    let vague: Vec<_> =
        snapshot.roots.iter().filter(|(root, _)| is_vague(&root.category)).collect();
    assert!(vague.is_empty(), "{vague:?}");
    let of_view = |view: &[&str]| {
        let read = [&["heap", path.to_str().unwrap()], view].concat();
        lifetrace_verb(&read).stdout_text().to_owned()
    };
    assert!(of_view(&[]).contains("stack of thread 0"), "{}", of_view(&[]));
    let retainers = of_view(&["--view", "retainers"]);
    assert!(retainers.contains("stack of thread 1, "), "{retainers}");
    let (root, _) =
        snapshot.roots.iter().find(|(root, _)| &*root.category == "stack of thread 1").unwrap();
    check_referrers(path, &snapshot, root);
}

/// Who refers to what lies on a stack is told with its frame.
fn check_referrers(path: &Path, snapshot: &Snapshot, root: &Root) {
    let (_, block) = snapshot.roots.iter().find(|(other, _)| other == root).unwrap();
    let at = format!("{:#x}", snapshot.blocks[*block as usize].address);
    let referrer = format!("root {}: {}", root.category, root.name.as_ref().unwrap());
    for view in ["holding", "block"] {
        let read = ["heap", path.to_str().unwrap(), "--view", view, "--at", &at];
        let page = lifetrace_verb(&read).stdout_text().to_owned();
        let (_, referrers) = page.split_once("Who refers to it").unwrap();
        assert!(referrers.contains(&referrer), "{page}");
    }
}

#[test]
fn what_is_on_stacks_is_told_by_thread_and_frame() {
    check_stacks(&ocaml::native("held"));
    check_stacks(&ocaml::stripped("held"));
}

#[test]
fn a_program_that_runs_is_asked() {
    let running = Running::of(&ocaml::native("churning"), &["60"], &["--rate", "1e-3"]);
    let asked = running.snapshot(&[]);
    assert_eq!(asked.code, 0, "{asked:?}");
    assert!(asked.stderr_text().contains("t.") && asked.stderr_text().contains(" blocks, "));
    let again = running.snapshot(&[]);
    assert_eq!(again.code, 0, "{again:?}");
    let [ref first, ref second] = running.files()[..] else { panic!("{:?}", running.files()) };
    let (first, second) = (Snapshot::read(first), Snapshot::read(second));
    let lists = |snapshot: &Snapshot| {
        let is_cell = |block: &&_| is_cell(block);
        snapshot.blocks.iter().filter(is_cell).count()
    };
    // The program keeps a list of a million.
    assert!(lists(&first) >= 1_000_000, "{}", lists(&first));
    assert_eq!((first.header.number, second.header.number), (1, 2));
    assert_eq!(&*first.header.cause, "asked for");
    assert!(first.outcome.pause_ns > 0 && first.outcome.cpu_ns > 0);
    check_samples(&first);
}

fn is_cell(block: &crate::support::snapshot::Block) -> bool {
    block.bytes == 3 * 8 && &*block.kind.name == "tag 0"
}

/// The samples of the list, each with its weight, make up the list; and each lies at a block that lives, or did.
fn check_samples(snapshot: &Snapshot) {
    let of_list: Vec<_> = snapshot
        .samples
        .iter()
        .filter(|sample| {
            let site = &snapshot.sites[sample.site.0 as usize];
            site.frames.iter().any(|frame| frame.function.contains("keep"))
        })
        .collect();
    let sum: f64 = of_list.iter().map(|sample| sample.weight).sum();
    let squares: f64 = of_list.iter().map(|sample| sample.weight * sample.weight).sum();
    assert!((sum - 1e6).abs() < 5.0 * squares.sqrt(), "{sum} of {} samples", of_list.len());
    let is_there = |address| snapshot.blocks.iter().any(|block| block.address == address);
    assert!(of_list.iter().take(50).all(|sample| is_there(sample.address.0)));
}

#[test]
fn a_snapshot_that_would_take_too_much_memory_is_given_up() {
    let running = Running::of(&ocaml::native("churning"), &["60"], &[]);
    let asked = running.snapshot(&["--snapshot-memory", "256KiB"]);
    assert_eq!(asked.code, 1, "{asked:?}");
    assert!(asked.stderr_text().contains("more than 256 KiB"), "{asked:?}");
    assert_eq!(running.files(), [] as [PathBuf; 0]);
    assert_eq!(running.snapshot(&["-q"]).stderr_text(), "");
}

#[test]
fn nothing_is_overwritten_and_who_is_not_recorded_is_told() {
    let running = Running::of(&ocaml::native("churning"), &["60"], &[]);
    let taken = running.folder.path().join("taken");
    std::fs::write(&taken, "precious").unwrap();
    let asked = running.snapshot(&["-o", taken.to_str().unwrap()]);
    assert_eq!((asked.code, std::fs::read(&taken).unwrap().as_slice()), (1, &b"precious"[..]));
    assert!(asked.stderr_text().contains("exists"), "{asked:?}");
    assert_eq!(running.snapshot(&["-f", "-q", "-o", taken.to_str().unwrap()]).code, 0);
    let own = std::process::id().to_string();
    let other = lifetrace_verb(&["snapshot", &own]);
    assert!(other.code == 1 && other.stderr_text().contains("lifetrace record"), "{other:?}");
}

#[test]
fn snapshots_that_nobody_asks_for() {
    let every = Target::new(&[&ocaml::native("churning")]).arguments(&["2"]);
    let every = every.record(&["--snapshot-every", "500ms", "--snapshot-after-gc", "1"]);
    let causes: Vec<String> = snapshots(&every)
        .iter()
        .map(|path| Snapshot::read(path).header.cause.to_string())
        .collect();
    assert!(causes.iter().any(|cause| cause == "every so often"), "{causes:?}");
    assert!(causes.iter().any(|cause| cause == "after a collection"), "{causes:?}");
    let large = Target::new(&[&ocaml::native("churning")]).arguments(&["2"]);
    let large = large.record(&["--snapshot-when", "rss > 8MiB"]);
    let [ref path] = snapshots(&large)[..] else { panic!("{:?}", large.traces()) };
    assert_eq!(&*Snapshot::read(path).header.cause, "resident memory");
}

#[test]
fn a_signal_asks_for_one() {
    let running = Running::of(&ocaml::native("churning"), &["60"], &["--snapshot-on", "HUP"]);
    let recorder = running.recorder.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &recorder]).status().unwrap().success());
    while running.files().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
}
