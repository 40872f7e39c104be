//! OCaml and Ruby programs that run already: their heaps are sampled from the next safe place on, and left as they were.

use std::path::Path;
use std::process::Command;

use lifetrace_trace::event::Source;

use crate::support::attached::{Attached, Recorder};
use crate::support::births::{self, Birth};
use crate::support::profile::read_through;
use crate::support::ruby::ruby;
use crate::support::run::lifetrace_verb;
use crate::support::{fixture, ocaml};

/// Each word, or each object.
const EXACT: [&str; 2] = ["--rate", "1"];
/// So that what is estimated has an interval that a mistake does not fit into.
const DENSE: [&str; 2] = ["--rate", "0.01"];
/// How many standard deviations an estimate may be off. Each run has chances of its own, so that two of them, as in an
/// interval of 95 %, would be too few in one run of twenty.
const SIGMAS: f64 = 5.0;

fn ocaml_program(words: &[&str]) -> Attached {
    Attached::of(Command::new(ocaml::native("attached")).args(words))
}

fn ruby_program(words: &[&str]) -> Attached {
    let file = fixture::source("ruby/attached.rb");
    let target = ruby().arguments(&[file.to_str().unwrap()]).arguments(words);
    let (program, arguments) = target.words().split_first().unwrap();
    Attached::of(Command::new(program).args(arguments))
}

/// Blocks of the managed heap whose backtrace has this function.
fn of<'a>(births: &'a [Birth], function: &'a str) -> impl Iterator<Item = &'a Birth> {
    let is_managed = |it: &&Birth| matches!(it.source, Source::Minor | Source::Major);
    births.iter().filter(is_managed).filter(move |it| it.functions().any(|name| name == function))
}

/// All of its code. The system may tell of it in more parts than before.
fn code(program: &Attached) -> Vec<u8> {
    program.code().into_iter().flat_map(|(_, bytes)| bytes).collect()
}

/// Waits until its code is as it was: the runtime has to come to a safe place first.
fn wait_for_code(program: &mut Attached, before: &[u8]) {
    const TRIES: usize = 50;
    for _ in 0..TRIES {
        assert_eq!(program.say("collect"), "done\n");
        if code(program) == before {
            return;
        }
    }
    panic!("some byte was not put back");
}

fn report(program: &Attached, words: &[&str]) -> String {
    let trace = program.trace();
    lifetrace_verb(&[&["report", trace.to_str().unwrap()], words].concat()).stdout_text()
}

/// That what was counted is what is estimated of `of`, as nearly as an estimate can tell: what is asked of the runtime
/// itself takes up to a hundredth. A recorder that others keep from its work loses samples, and says how many.
fn check_estimate(program: &Attached, source: &str, of: &str, counted: f64) {
    let filter = format!("source={source}");
    let page: serde_json::Value =
        serde_json::from_str(&report(program, &["--json", "--filter", &filter])).unwrap();
    let number = |name: String| page["totals"]["allocated"][name].as_f64().unwrap();
    let [estimate, low, high] = ["", "_low95", "_high95"].map(|end| number(format!("{of}{end}")));
    let deviation = (high - low) / 2.0 / 1.96;
    assert!(SIGMAS * deviation < 0.1 * counted, "{deviation} of {counted}");
    let losses = page["trace"]["facts"]["lost"].as_object().unwrap();
    let lost: f64 = losses.values().map(|it| it.as_f64().unwrap()).sum();
    let slack = counted * (0.01 + lost / (lost + number("samples".to_owned())));
    let off = (estimate - counted).abs();
    assert!(off < SIGMAS * deviation + slack, "{estimate} ± {deviation}, {counted}; {losses:?}");
}

fn terminate(recorder: Recorder) {
    let (code, said) = recorder.terminate();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn each_word_of_ocaml_is_heard_from_then_on() {
    check_each_word(ocaml_program(&[]));
}

/// That of the fixture `attached` each word is heard while it is attached to, and nothing is left behind.
pub fn check_each_word(mut program: Attached) {
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

/// What is kept lives, what is dropped dies, and what had been kept before is neither.
#[test]
fn what_becomes_of_ocamls_blocks() {
    let mut program = ocaml_program(&[]);
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

#[test]
fn what_ocaml_has_counted_is_estimated() {
    let mut program = ocaml_program(&[]);
    program.say("work 20000");
    for _ in 0..4 {
        let recorder = program.attach_on(&DENSE);
        let words: f64 = program.say("work 50000").trim().parse().unwrap();
        terminate(recorder);
        check_estimate(&program, "ocaml", "bytes", 8.0 * words);
    }
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

#[test]
fn ocaml_again_and_again() {
    let mut program = ocaml_program(&[]);
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

/// That a program whose runtime can be heard from its start alone is told so.
pub fn check_from_start_alone(mut program: Attached) {
    let recorder = program.attach_on(&EXACT);
    program.say("work 1000");
    let (code, said) = recorder.terminate();
    assert!(code == Some(0) && said.contains("sampled from the program's start on"), "{said}");
    assert_eq!(of(&births::of(&program.trace()), "Attached.by_pairs").count(), 0);
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

/// A runtime that comes to no safe place, and one that does when the next session wants something else.
#[test]
fn an_ocaml_that_waits() {
    let mut program = ocaml_program(&[]);
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

#[test]
fn threads_of_ocaml() {
    let program = ocaml_program(&["threads"]);
    for _ in 0..5 {
        let outcome = program.attach(&["--rate", "1e-3", "--duration", "200ms", "-q"]);
        assert_eq!((outcome.code, &*outcome.stderr_text()), (0, ""));
        assert!(read_through(&program.trace()).allocated.samples > 10);
    }
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

#[test]
fn a_stripped_ocaml_and_its_children() {
    let mut program = Attached::of(&mut Command::new(ocaml::stripped("attached")));
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
#[test]
fn ocaml_that_uses_memprof_itself() {
    let mut program = ocaml_program(&[]);
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
#[test]
fn ocaml_whose_recorder_is_killed() {
    let mut program = ocaml_program(&[]);
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

/// Things that a method of the program's has made.
fn things(trace: &Path, method: &str) -> usize {
    let births = births::of(trace);
    of(&births, method).filter(|it| it.functions().any(|name| name == "[class Thing]")).count()
}

#[test]
fn each_object_of_ruby_is_heard_from_then_on() {
    let mut program = ruby_program(&[]);
    program.say("work 1000");
    for count in [1000, 200] {
        let recorder = program.attach_on(&EXACT);
        program.say(&format!("work {count}"));
        program.say("collect");
        terminate(recorder);
        let made = ["Object#things", "Object#kept"].map(|method| things(&program.trace(), method));
        assert_eq!(made, [count, count / 10]);
        program.say("work 1000");
    }
    let told = report(&program, &[]);
    assert!(told.contains("the sampling of its heap of ruby could begin"), "{told}");
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

#[test]
fn what_ruby_has_counted_while_attached_is_estimated() {
    let mut program = ruby_program(&[]);
    for _ in 0..3 {
        let recorder = program.attach_on(&["--rate", "0.05"]);
        let objects: f64 = program.say("work 50000").trim().parse().unwrap();
        terminate(recorder);
        check_estimate(&program, "ruby", "objects", objects);
    }
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

#[test]
fn threads_and_children_of_ruby() {
    let mut program = ruby_program(&["threads"]);
    for _ in 0..3 {
        let outcome = program.attach(&["--rate", "1e-3", "--duration", "500ms", "-q"]);
        assert_eq!((outcome.code, &*outcome.stderr_text()), (0, ""));
    }
    let recorder = program.attach_on(&EXACT);
    program.say("work 100");
    assert_eq!(program.say("fork"), "done\n");
    terminate(recorder);
    assert_eq!(things(&program.trace(), "Object#work"), 110);
    let children: Vec<_> =
        program.traces().into_iter().filter(|path| *path != program.trace()).collect();
    assert_eq!(children.iter().map(|it| things(it, "Object#forked")).sum::<usize>(), 1000);
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

#[test]
fn a_ruby_that_waits_and_one_whose_recorder_is_killed() {
    let mut program = ruby_program(&[]);
    let outcome = program.attach(&["--rate", "1", "--duration", "50ms"]);
    let told = outcome.stderr_text();
    assert!(outcome.code == 0 && told.contains("waited in its runtime of ruby"), "{told}");
    let mut recorder = program.attach_on(&EXACT);
    program.say("work 100");
    recorder.child.kill().unwrap();
    drop(recorder.end());
    program.say("work 3000");
    assert_eq!(program.detach().code, 0);
    program.say("work 3000");
    let recorder = program.attach_on(&EXACT);
    program.say("work 100");
    terminate(recorder);
    assert_eq!(things(&program.trace(), "Object#things"), 100);
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

/// It survives ractors because no hook is left, and while it has one there is none.
#[test]
fn ruby_with_ractors() {
    let mut program = ruby_program(&[]);
    let recorder = program.attach_on(&["--rate", "1"]);
    program.say("work 100");
    assert_eq!(program.say("ractor"), "42\n");
    let (code, said) = recorder.terminate();
    assert!(code == Some(0) && said.contains("has made a ractor"), "{said}");
    assert_eq!(things(&program.trace(), "Object#things"), 100);
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}
