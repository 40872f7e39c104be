//! Programs with a runtime's heap whose collectors come and go: each hears that heap from the moment on at which it comes.

use std::path::{Path, PathBuf};
use std::process::Command;

use lifetrace_trace::fact::Fact;

use crate::support::attached::Attached;
use crate::support::births;
use crate::support::collecting::{Place, wait_for};
use crate::support::late::of;
use crate::support::profile::facts_of;

/// Each word, or each object.
const EXACT: [&str; 4] = ["--sources", "auto", "--rate", "1"];

/// What the program has made by its word `work`, as a trace has it.
type Made = dyn Fn(&Path) -> u64;

/// What makes `work 1000` is heard whole from the program's start, and whole again by the next collectors, be the last one
/// ended or killed.
pub fn check_next_collectors(program: &mut Command, made: &Made, by_work: u64) {
    let place = Place::new();
    let mut collecting = place.collect(&EXACT);
    let mut program = Attached::of(program.envs(place.variables()));
    program.say("work 1000");
    for round in 0..3 {
        let before = place.traces();
        let is_killed = round == 2;
        if is_killed {
            collecting.kill();
        } else {
            collecting.end();
        }
        program.say("work 1000");
        collecting = place.collect(&EXACT);
        come(&place, &mut program);
        let [trace] = &new_ones(&place, &before)[..] else { panic!("{:?}", place.traces()) };
        // The second one has more, of the time in which it came; the last moments of one that was killed may be missing.
        let made = made(trace);
        assert!(is_killed || made >= by_work && made.is_multiple_of(by_work / 1000), "{made}");
        assert!(round > 0 || made == by_work, "{made}");
        program.say("work 1000");
    }
    let before = place.traces();
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
    collecting.end();
    let [trace] = &new_ones(&place, &before)[..] else { panic!("{:?}", place.traces()) };
    assert!(made(trace) >= by_work, "{}", made(trace));
    let notices = notices(trace);
    assert!(notices.iter().any(|it| it.starts_with("unheard:")), "{notices:?}");
    assert!(notices.iter().any(|it| it.starts_with("runtime-heard")), "{notices:?}");
}

/// A program that was there before any collector.
pub fn check_later_collector(program: &mut Command, made: &Made, by_work: u64) {
    let place = Place::new();
    let mut program = Attached::of(program.envs(place.variables()));
    program.say("work 1000");
    let collecting = place.collect(&EXACT);
    come(&place, &mut program);
    program.say("work 1000");
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
    collecting.end();
    let [trace] = &place.traces()[..] else { panic!("{:?}", place.traces()) };
    assert!(made(trace) >= by_work, "{}", made(trace));
    assert!(notices(trace).contains(&"began-late".to_owned()), "{:?}", notices(trace));
}

/// Three domains of OCaml 5 that allocate all the while, each with a profile of its own in the second collector.
pub fn check_domains(program: &mut Command) {
    const OPTIONS: [&str; 4] = ["--sources", "auto", "--rate", "0.001"];
    let hits = |trace: &Path| {
        let births = births::of(trace);
        of(&births, "Attached_domains.in_domain").map(|it| it.hits).sum::<u64>()
    };
    let place = Place::new();
    let collecting = place.collect(&OPTIONS);
    let mut program = Attached::of(program.envs(place.variables()));
    program.say("work 400000");
    collecting.end();
    // 7,200,000 words, of which one in a thousand is hit; five standard deviations.
    let [first] = &place.traces()[..] else { panic!("{:?}", place.traces()) };
    assert!((6_770..7_630).contains(&hits(first)), "{}", hits(first));
    let collecting = place.collect(&OPTIONS);
    come(&place, &mut program);
    program.say("work 400000");
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
    collecting.end();
    let [second] = &new_ones(&place, std::slice::from_ref(first))[..] else {
        panic!("{:?}", place.traces())
    };
    assert!(hits(second) > 6_770, "{}", hits(second));
}

/// Has the program work until it has found the collector, and has come to a safe place then.
fn come(place: &Place, program: &mut Attached) {
    wait_for("it to come", || {
        program.say("work 1000");
        !place.parts().is_empty()
    });
    assert_eq!(program.say("collect"), "done\n");
}

fn new_ones(place: &Place, before: &[PathBuf]) -> Vec<PathBuf> {
    place.traces().into_iter().filter(|it| !before.contains(it)).collect()
}

fn notices(trace: &Path) -> Vec<String> {
    let notices = facts_of(trace).into_iter().filter_map(|fact| match fact {
        Fact::Notice(code) => Some(code.to_string()),
        _ => None,
    });
    notices.collect()
}

/// Words of pairs and of the cells that they are in.
pub fn pairs(trace: &Path) -> u64 {
    of(&births::of(trace), "Attached.by_pairs").map(|it| it.hits).sum()
}

mod ocaml {
    use super::*;
    use crate::support::ocaml;

    #[test]
    fn each_collector_hears_ocamls_heap() {
        check_next_collectors(&mut Command::new(ocaml::native("attached")), &pairs, 6000);
    }

    #[test]
    fn a_collector_that_comes_later_hears_it() {
        check_later_collector(&mut Command::new(ocaml::native("attached")), &pairs, 6000);
    }
}

mod ruby {
    use super::*;
    use crate::support::fixture;
    use crate::support::ruby::ruby;

    fn program() -> Command {
        let file = fixture::source("ruby/attached.rb");
        let target = ruby().arguments(&[file.to_str().unwrap()]);
        let (program, arguments) = target.words().split_first().unwrap();
        let mut command = Command::new(program);
        command.args(arguments);
        command
    }

    fn things(trace: &Path) -> u64 {
        let births = births::of(trace);
        let things = of(&births, "Object#things");
        things.filter(|it| it.functions().any(|name| name == "[class Thing]")).count() as u64
    }

    #[test]
    fn each_collector_hears_rubys_heap() {
        check_next_collectors(&mut program(), &things, 1000);
    }

    #[test]
    fn a_collector_that_comes_later_hears_it() {
        check_later_collector(&mut program(), &things, 1000);
    }
}
