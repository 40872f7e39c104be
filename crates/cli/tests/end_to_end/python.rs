//! Python programs whose stacks are read in malloc's backtraces, and are compared with what the interpreter says itself.

#[cfg(target_arch = "x86_64")]
mod hearing;
mod leaks;

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use lifetrace_trace::event::Location;

use crate::support::births::{self, Birth};
use crate::support::fixture;
use crate::support::ledger;
use crate::support::python::python;
use crate::support::run::{Recording, Target};

pub const EXACT: &[&str] = &["--rate", "1"];

fn program(name: &str) -> Target {
    let file = fixture::source(&format!("python/{name}.py"));
    python().arguments(&[file.to_str().unwrap()])
}

/// What the interpreter says of a frame: its function, file and line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    function: String,
    file: String,
    line: u32,
}

/// The stacks at which blocks were made, by the blocks' lengths; outermost frame first.
pub fn told(file: &Path) -> Vec<(u64, Vec<Frame>)> {
    let frame = |text: &str| {
        let mut words = text.rsplitn(3, ' ');
        let line = words.next().unwrap().parse().unwrap();
        let [file, function] = [words.next(), words.next()].map(|it| it.unwrap().to_owned());
        Frame { function, file, line }
    };
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| {
        let mut fields = line.split('\t');
        (fields.next().unwrap().parse().unwrap(), fields.map(frame).collect())
    });
    lines.collect()
}

/// What Python's own stacks have: other frames are native.
fn is_pythons(location: &Location) -> bool {
    location.filename.ends_with(".py") || location.filename.starts_with('<')
}

/// Whether it is that frame, under the name of its module.
fn is_same(found: &Location, told: &Frame) -> bool {
    let (name, function) = (&*found.defname, &*told.function);
    let is_named =
        name == function || name.strip_suffix(function).is_some_and(|it| it.ends_with('.'));
    is_named && *found.filename == *told.file && found.line == told.line
}

/// The blocks of a trace whose lengths are told, by their lengths.
fn by_length(trace: &Path) -> HashMap<u64, Birth> {
    births::of(trace).into_iter().map(|birth| (8 * birth.words, birth)).collect()
}

fn recorded(name: &str, options: &[&str]) -> (Recording, Vec<(u64, Vec<Frame>)>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stacks");
    let target = program(name).arguments(&[file.to_str().unwrap()]);
    let recording = target.record(options);
    assert_eq!((recording.outcome.code, recording.outcome.stderr_text()), (0, String::new()));
    (recording, told(&file))
}

/// That each block has the stack that was told of it.
pub fn check(blocks: &HashMap<u64, Birth>, told: Vec<(u64, Vec<Frame>)>) {
    for (bytes, frames) in told {
        let birth = &blocks[&bytes];
        let found: Vec<_> = birth.frames.iter().flatten().filter(|it| is_pythons(it)).collect();
        let same = found.iter().zip(&frames).take_while(|(found, told)| is_same(found, told));
        let same = same.count();
        assert!(
            same == found.len() && same == frames.len(),
            "{bytes}: frame {same} of {}, {}: {:#?}\n{:#?}",
            found.len(),
            frames.len(),
            found.get(same),
            frames.get(same)
        );
    }
}

#[test]
fn stacks_are_those_that_python_tells() {
    let (recording, told) = recorded("stacks", EXACT);
    let blocks = by_length(&recording.traces()[0]);
    assert!(told.len() >= 40);
    check(&blocks, told);
    let calls = |birth: &&Birth| birth.functions().any(|name| name.ends_with("compare"));
    let called_back = blocks.values().find(calls).unwrap();
    assert!(
        std::env::var("LIFETRACE_PYTHON_VERSION").is_ok_and(|it| it == "3.9")
            || has_sort(called_back)
    );
}

/// Processes that are forked and started anew, other interpreters, pools of threads, tasks, and a recursion that is deeper
/// than a thousand calls.
#[test]
fn stacks_of_others_than_the_first_thread() {
    let folder = tempfile::tempdir().unwrap();
    let (file, python) = (folder.path().join("stacks"), folder.path().join("python"));
    let target = program("others");
    let target = target.arguments(&[file.to_str().unwrap(), python.to_str().unwrap()]);
    write_command(&python, &target);
    let recording = target.record(EXACT);
    assert_eq!((recording.outcome.code, recording.outcome.stderr_text()), (0, String::new()));
    let told = told(&file);
    assert_eq!(told.len(), 17);
    let mut blocks = HashMap::new();
    for trace in recording.traces() {
        // Whoever is forked has what its parent had.
        by_length(&trace).into_iter().for_each(|(bytes, birth)| {
            blocks.entry(bytes).or_insert(birth);
        });
    }
    check(&blocks, told);
}

/// A command that is this Python.
fn write_command(file: &Path, target: &Target) {
    let words = target.words().iter().map(|word| word.to_str().unwrap());
    let python = words.take_while(|word| !word.ends_with(".py"));
    let python: Vec<_> = python.map(|word| format!("'{word}'")).collect();
    fs::write(file, format!("#!/bin/sh\nexec {} \"$@\"\n", python.join(" "))).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether the C library's sort stands between the function that has called it and the one that it calls.
fn has_sort(birth: &Birth) -> bool {
    let place = |of: &str| birth.functions().position(|name| name.contains(of)).unwrap();
    let [outer, sort, inner] = ["called_by_a_library", "qsort", ".compare"].map(place);
    outer < sort && sort < inner
}

/// Lengths, in words, of the blocks that the fixture counts.
const COUNTED: [u64; 6] = [16, 17, 18, 60, 64, 65];

#[test]
fn small_objects_are_heard_once_each() {
    let target = program("small");
    let recording = target.record(EXACT);
    let bare = target.bare();
    assert_eq!(recording.outcome, bare);
    let expected = ledger::expected(&bare.stdout_text());
    let traces = recording.traces();
    let found = ledger::recorded_of(&traces, |block| COUNTED.contains(&block.words));
    assert_eq!(expected.len(), 6);
    for (function, expected) in expected {
        assert_eq!(found[&function], expected, "{function}");
    }
    // What was resized again and again is gone.
    let all = ledger::recorded(&traces);
    assert_eq!(all["hazard_grown"].live, 0, "{all:?}");
}
