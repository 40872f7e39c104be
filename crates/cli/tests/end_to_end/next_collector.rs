//! Programs with a runtime's heap whose collectors come and go: each hears that heap from the moment on at which it comes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use lifetrace_trace::fact::Fact;

use crate::support::attached::Attached;
use crate::support::births;
use crate::support::collecting::{Place, wait_for};
use crate::support::late::of;
use crate::support::profile::facts_of;
use crate::support::run::lifetrace_verb;

/// Each word, or each object.
const EXACT: [&str; 4] = ["--sources", "auto", "--rate", "1"];

/// A program that says how much it makes.
pub struct Maker<'a> {
    /// Its function that makes something at the word `work`.
    pub function: &'a str,
    /// What that has made, as a trace has it.
    pub made: fn(&Path) -> u64,
    /// What `work 1000` makes.
    pub by_work: u64,
}

/// What makes `work 1000` is heard whole from the program's start, and whole again by the next collectors, be the last one
/// ended or killed.
pub fn check_next_collectors(program: &mut Command, maker: &Maker) {
    let Maker { made, by_work, .. } = *maker;
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
        come(&place, &mut program, maker.function);
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
pub fn check_later_collector(program: &mut Command, maker: &Maker) {
    let Maker { made, by_work, .. } = *maker;
    let place = Place::new();
    let mut program = Attached::of(program.envs(place.variables()));
    program.say("work 1000");
    let collecting = place.collect(&EXACT);
    come(&place, &mut program, maker.function);
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
    const FUNCTION: &str = "Attached_domains.in_domain";
    let hits = |trace: &Path| {
        let births = births::of(trace);
        of(&births, FUNCTION).map(|it| it.hits).sum::<u64>()
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
    come(&place, &mut program, FUNCTION);
    program.say("work 400000");
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
    collecting.end();
    let [second] = &new_ones(&place, std::slice::from_ref(first))[..] else {
        panic!("{:?}", place.traces())
    };
    assert!(hits(second) > 6_770, "{}", hits(second));
}

/// Has the program work until the collector hears what its function makes. That there is a trace is not enough: who has
/// waited too long for an answer leaves one that is given up, and asks again later.
fn come(place: &Place, program: &mut Attached, function: &str) {
    let is_heard = |part: &PathBuf| {
        let export =
            ["export", "-F", "collapsed", "--metric", "allocated", "-o", "-"].map(OsStr::new);
        let words = [&export[..], &[part.as_os_str()]].concat();
        lifetrace_verb(&words).stdout_text().contains(function)
    };
    wait_for("it to be heard", || {
        program.say("work 1000");
        let parts = place.parts();
        // Who has just collected allocates so little that it hardly ever looks for a collector.
        if !parts.is_empty() {
            assert_eq!(program.say("collect"), "done\n");
        }
        parts.iter().any(is_heard)
    });
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

/// The fixture `attached`: words of pairs and of the cells that they are in.
pub const PAIRS: Maker = Maker {
    function: "Attached.by_pairs",
    made: |trace| of(&births::of(trace), "Attached.by_pairs").map(|it| it.hits).sum(),
    by_work: 6000,
};

mod ocaml {
    use super::*;
    use crate::support::ocaml;

    #[test]
    fn each_collector_hears_ocamls_heap() {
        check_next_collectors(&mut Command::new(ocaml::native("attached")), &PAIRS);
    }

    #[test]
    fn a_collector_that_comes_later_hears_it() {
        check_later_collector(&mut Command::new(ocaml::native("attached")), &PAIRS);
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

    const THINGS: Maker = Maker { function: "Object#things", made: things, by_work: 1000 };

    fn things(trace: &Path) -> u64 {
        let births = births::of(trace);
        let things = of(&births, "Object#things");
        things.filter(|it| it.functions().any(|name| name == "[class Thing]")).count() as u64
    }

    #[test]
    fn each_collector_hears_rubys_heap() {
        check_next_collectors(&mut program(), &THINGS);
    }

    #[test]
    fn a_collector_that_comes_later_hears_it() {
        check_later_collector(&mut program(), &THINGS);
    }
}
