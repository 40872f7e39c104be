//! OCaml programs that run already: their heaps are sampled from the next safe place on, and left as they were.

use std::process::Command;

use lifetrace_trace::event::Source;

use crate::support::attached::Attached;
use crate::support::births;
use crate::support::late::{
    DENSE, EXACT, check_estimate, code, of, report, terminate, wait_for_code,
};
use crate::support::ocaml;
use crate::support::profile::read_through;

/// Starts the fixture `attached` with these words.
pub type Start = dyn Fn(&[&str]) -> Attached;

fn system(words: &[&str]) -> Attached {
    Attached::of(Command::new(ocaml::native("attached")).args(words))
}

fn stripped(words: &[&str]) -> Attached {
    Attached::of(Command::new(ocaml::stripped("attached")).args(words))
}

#[test]
fn each_word_of_ocaml_is_heard_from_then_on() {
    check_each_word(&system);
}

/// What is kept lives, what is dropped dies, and what had been kept before is neither.
#[test]
fn what_becomes_of_ocamls_blocks() {
    check_what_becomes(&system);
}

#[test]
fn what_ocaml_has_counted_is_estimated() {
    check_counted(&system);
}

#[test]
fn ocaml_again_and_again() {
    check_again(&system);
}

#[test]
fn an_ocaml_that_waits() {
    check_waiting(&system);
}

#[test]
fn threads_of_ocaml() {
    check_threads(&system);
}

#[test]
fn a_stripped_ocaml_and_its_children() {
    check_children(&stripped);
}

#[test]
fn ocaml_that_uses_memprof_itself() {
    check_own_memprof(&system);
}

#[test]
fn ocaml_whose_recorder_is_killed() {
    check_killed(&system);
}

/// Each word is heard while it is attached to, and nothing is left behind.
pub fn check_each_word(program: &Start) {
    let mut program = program(&[]);
    let before = code(&program);
    program.say("work 1000");
    let recorder = program.attach_on(&EXACT);
    program.say("work 1000");
    terminate(recorder);
    let births = births::of(&program.trace());
    let pairs: Vec<_> = of(&births, "Attached.by_pairs").collect();
    // A pair and the cell that it is in; blocks from before are not known.
    assert_eq!(pairs.iter().map(|it| it.hits).sum::<u64>(), 6_000);
    assert!(pairs.iter().all(|it| it.functions().any(|name| name == "Attached.work")));
    let arrays: Vec<_> = of(&births, "Attached.by_arrays").collect();
    assert_eq!(arrays.len(), 10);
    assert!(
        arrays.iter().all(|it| (it.words, it.hits) == (1000, 1001) && it.source == Source::Major)
    );
    let told = report(&program, &[]);
    let words = "came to a place where the sampling of its heap of ocaml could begin";
    assert!(told.contains(words) && told.contains("when it was attached to"), "{told}");
    wait_for_code(&mut program, &before);
    program.say("work 1000");
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

pub fn check_what_becomes(program: &Start) {
    let mut program = program(&[]);
    program.say("work 5000");
    let recorder = program.attach_on(&EXACT);
    program.say("work 1000");
    program.say("collect");
    program.say("work 200");
    terminate(recorder);
    let births = births::of(&program.trace());
    let pairs: Vec<_> = of(&births, "Attached.by_pairs").collect();
    assert_eq!(pairs.iter().map(|it| it.hits).sum::<u64>(), 7_200);
    let page = report(&program, &["--json", "--filter", "fn=Attached.by_pairs"]);
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    let live = page["totals"]["live_at_end"]["bytes"].as_f64().unwrap();
    // By cells of three words, and pairs of three words.
    assert_eq!(live, 200.0 * 2.0 * 3.0 * 8.0, "{page}");
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

pub fn check_counted(program: &Start) {
    let mut program = program(&[]);
    program.say("work 20000");
    for _ in 0..4 {
        let recorder = program.attach_on(&DENSE);
        program.say("work 50000");
        terminate(recorder);
        // By cells of three words, and pairs of three words.
        check_estimate(&program, "fn=Attached.by_pairs", "bytes", 50_000.0 * 6.0 * 8.0);
    }
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

pub fn check_again(program: &Start) {
    let mut program = program(&[]);
    let before = code(&program);
    let mappings = |program: &Attached| {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", program.pid())).unwrap();
        maps.lines().count()
    };
    let mut first = 0;
    for round in 0..12 {
        // Nothing is seen of a session whose words nobody waits for, but at the next safe place.
        let rate = if round % 2 == 0 { "1" } else { "0.5" };
        let recorder = program.attach_on(&["--rate", rate]);
        program.say("work 100");
        terminate(recorder);
        let births = births::of(&program.trace());
        let hits = of(&births, "Attached.by_pairs").map(|it| it.hits).sum::<u64>();
        let is_right = if round % 2 == 0 { hits == 600 } else { (200..400).contains(&hits) };
        assert!(is_right, "{hits} in round {round}");
        match round {
            3 => first = mappings(&program),
            _ => assert!(round < 3 || mappings(&program) <= first + 2, "mappings are left behind"),
        }
    }
    wait_for_code(&mut program, &before);
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

/// A runtime that comes to no safe place, and one that does when the next session wants something else.
pub fn check_waiting(program: &Start) {
    let mut program = program(&[]);
    let outcome = program.attach(&["--rate", "1", "--duration", "50ms"]);
    let told = outcome.stderr_text();
    assert!(outcome.code == 0 && told.contains("waited in its runtime of ocaml"), "{told}");
    let recorder = program.attach_on(&EXACT);
    program.say("work 100");
    terminate(recorder);
    // Its sampler is still ours.
    let recorder = program.attach_on(&["--sources", "native", "--interval", "1"]);
    program.say("work 100");
    terminate(recorder);
    let births = births::of(&program.trace());
    assert_eq!(of(&births, "Attached.by_pairs").count(), 0);
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

pub fn check_threads(program: &Start) {
    let program = program(&["threads"]);
    for _ in 0..5 {
        let outcome = program.attach(&["--rate", "1e-3", "--duration", "200ms", "-q"]);
        assert_eq!((outcome.code, &*outcome.stderr_text()), (0, ""));
        assert!(read_through(&program.trace()).allocated.samples > 10);
    }
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

pub fn check_children(program: &Start) {
    let mut program = program(&[]);
    let recorder = program.attach_on(&EXACT);
    program.say("work 100");
    assert_eq!(program.say("fork"), "done\n");
    terminate(recorder);
    let children: Vec<_> =
        program.traces().into_iter().filter(|path| *path != program.trace()).collect();
    assert_eq!(children.len(), 1);
    for (trace, pairs) in [(&program.trace(), 100), (&children[0], 1000)] {
        let births = births::of(trace);
        assert_eq!(of(&births, "Attached.by_pairs").map(|it| it.hits).sum::<u64>(), 6 * pairs);
    }
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

/// Memprof serves one at a time, and the program comes first.
pub fn check_own_memprof(program: &Start) {
    let mut program = program(&[]);
    assert_eq!(program.say("start"), "done\n");
    let recorder = program.attach_on(&["--rate", "1"]);
    program.say("work 1000");
    let (code, said) = recorder.terminate();
    assert!(code == Some(0) && said.contains("was using Gc.Memprof itself"), "{said}");
    assert_eq!(of(&births::of(&program.trace()), "Attached.by_pairs").count(), 0);
    assert_eq!(program.say("stop"), "true\n");
    let recorder = program.attach_on(&EXACT);
    program.say("work 100");
    // From here on it is the program's.
    assert_eq!(program.say("start"), "done\n");
    program.say("work 1000");
    assert_eq!(program.say("stop"), "true\n");
    terminate(recorder);
    let births = births::of(&program.trace());
    assert_eq!(of(&births, "Attached.by_pairs").map(|it| it.hits).sum::<u64>(), 600);
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

/// What a recorder leaves that is killed, anybody can put in order.
pub fn check_killed(program: &Start) {
    let mut program = program(&[]);
    let before = code(&program);
    let kill = |program: &mut Attached| {
        let mut recorder = program.attach_on(&EXACT);
        program.say("work 100");
        recorder.child.kill().unwrap();
        drop(recorder.end());
        program.say("work 100");
    };
    kill(&mut program);
    let outcome = program.detach();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    wait_for_code(&mut program, &before);
    kill(&mut program);
    let recorder = program.attach_on(&EXACT);
    program.say("work 100");
    terminate(recorder);
    let births = births::of(&program.trace());
    assert_eq!(of(&births, "Attached.by_pairs").map(|it| it.hits).sum::<u64>(), 600);
    wait_for_code(&mut program, &before);
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

/// Domains of OCaml 5: those that are there begin each by itself, those that come go on with their parent's, and a program
/// that starts Memprof in one of them has it.
pub fn check_domains(start: impl Fn() -> Attached) {
    let mut program = start();
    let before = code(&program);
    program.say("work 1000");
    for _ in 0..3 {
        let recorder = program.attach_on(&["--rate", "0.001"]);
        program.say("work 400000");
        program.say("work 200000");
        assert_eq!(program.say("spawn 1000"), "done\n");
        terminate(recorder);
        let births = births::of(&program.trace());
        let hits = of(&births, "Attached_domains.in_domain").map(|it| it.hits).sum::<u64>();
        // Of three domains with six words each time; what is allocated until a domain comes by is not heard.
        assert!((9_400..11_400).contains(&hits), "{hits}");
    }
    let recorder = program.attach_on(&EXACT);
    // Until each has come by.
    program.say("work 50000");
    assert_eq!(program.say("spawn 1000"), "done\n");
    // From here on it is the program's.
    assert_eq!(program.say("start"), "done\n");
    program.say("work 1000");
    assert_eq!(program.say("stop"), "done\n");
    terminate(recorder);
    let births = births::of(&program.trace());
    let newborn: Vec<_> = of(&births, "Attached_domains.of_newborn").collect();
    assert_eq!(newborn.iter().map(|it| it.hits).sum::<u64>(), 5_000);
    wait_for_code(&mut program, &before);
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}
