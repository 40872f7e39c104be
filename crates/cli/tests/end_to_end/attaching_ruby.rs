//! Ruby programs that run already: their heaps are sampled from the next safe place on, and left as they were.

use std::path::Path;
use std::process::Command;

use lifetrace_trace::fact::Fact;

use crate::support::attached::Attached;
use crate::support::births;
use crate::support::fixture;
use crate::support::late::{EXACT, check_estimate, of, report, terminate};
use crate::support::profile::facts_of;
use crate::support::ruby::ruby;

fn ruby_program(words: &[&str]) -> Attached {
    let file = fixture::source("ruby/attached.rb");
    let target = ruby().arguments(&[file.to_str().unwrap()]).arguments(words);
    let (program, arguments) = target.words().split_first().unwrap();
    Attached::of(Command::new(program).args(arguments))
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
        check_estimate(&program, "source=ruby", "objects", objects);
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
    // Threads that are sampled densely all the while do not keep the end from coming, nor the look before it.
    let is_look = |fact: &Fact| matches!(fact, Fact::Looked(_));
    assert!(facts_of(&program.trace()).iter().any(is_look));
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
