//! When Python's small objects are heard, and what is said when they are not.

use std::collections::HashMap;
use std::process::Command;

use super::{EXACT, check, program, told};
use crate::support::attached::Attached;
use crate::support::births::{self, Birth};
use crate::support::fixture;
use crate::support::late::terminate;
use crate::support::ledger;
use crate::support::python::{self, python};
use crate::support::run::{Recording, Target, lifetrace_verb};

/// What a report names as what the rest of the memory may be.
const CAUSE: &str = "Python's objects of up to 512 bytes, which were not sampled";
/// What is said of the program.
const NOTICE: &str =
    "has objects of up to 512 bytes in arenas of Python's own which are not sampled";

/// Half a million strings of some 100 bytes live to the end, which does not take them down.
const HOLDER: &str = "import os\ndef hold():\n    return [str(at) * 10 for at in range(500000)]\n\
                      kept = hold()\nos._exit(0)";

fn holder(options: &[&str], environment: &[(&'static str, &str)]) -> Target {
    python().arguments(options).arguments(&["-c", HOLDER]).environment(environment)
}

/// Mebibytes that were allocated by Python's function.
fn held(recording: &Recording) -> f64 {
    let trace = recording.traces().remove(0);
    let trace = trace.to_str().unwrap();
    let page = lifetrace_verb(&["report", "--json", "--filter", "fn=hold", trace]);
    let page: serde_json::Value = serde_json::from_str(&page.stdout_text()).unwrap();
    page["totals"]["allocated"]["bytes"].as_f64().unwrap() / f64::from(1 << 20)
}

fn said(recording: &Recording) -> String {
    let trace = recording.traces().remove(0);
    lifetrace_verb(&["report", trace.to_str().unwrap()]).stdout_text().replace('\n', " ")
}

#[test]
fn small_objects_are_left_out_when_nobody_wants_them() {
    for (target, options) in [
        (holder(&[], &[]), &["--interval", "16KiB", "--no-small-objects"][..]),
        (holder(&["-X", "dev"], &[]), &["--interval", "16KiB"]),
        (holder(&[], &[("PYTHONMALLOC", "pymalloc_debug")]), &["--interval", "16KiB"]),
    ] {
        let recording = target.record(options);
        assert_eq!(recording.outcome.code, 0, "{:?}", recording.outcome);
        let (held, said) = (held(&recording), said(&recording));
        assert!(held < 15.0 && said.contains(NOTICE) && said.contains(CAUSE), "{held} {said}");
    }
}

#[test]
fn small_objects_are_mallocs_where_the_user_says_so() {
    for environment in [&[][..], &[("PYTHONMALLOC", "malloc")]] {
        let recording = holder(&[], environment).record(&["--interval", "16KiB"]);
        let (held, said) = (held(&recording), said(&recording));
        // Of at least 59 bytes each.
        assert!(held > 28.0 && !said.contains(NOTICE) && !said.contains(CAUSE), "{held} {said}");
    }
}

#[test]
fn a_python_that_is_attached_to() {
    if python::home().is_some() {
        // Behind a dynamic linker of its own nobody can tell where the program begins.
        return;
    }
    let file = fixture::source("python/attached.py");
    let target = python().arguments(&[file.to_str().unwrap()]);
    let (command, arguments) = target.words().split_first().unwrap();
    let mut command = Command::new(command);
    command.args(arguments);
    let mut program = Attached::of(&mut command);
    program.say("work 300");
    for count in [1000, 200] {
        let recorder = program.attach_on(EXACT);
        assert_eq!(program.say(&format!("work {count}")), "done\n");
        terminate(recorder);
        let births = births::of(&program.trace());
        assert_eq!(made(&births, "attached.hazard_small", 17), 2 * count);
        assert_eq!(made(&births, "attached.hazard_large", 130), count);
        assert_eq!(program.say("work 300"), "done\n");
    }
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

/// Blocks of so many words that a function has made itself.
fn made(births: &[Birth], function: &str, words: u64) -> usize {
    let is_its = |it: &&Birth| it.place().is_some_and(|it| &*it.defname == function);
    births.iter().filter(|it| it.words == words).filter(is_its).count()
}

/// The system's; others have no library beside.
#[test]
fn a_python_that_is_loaded_late_and_goes_again() {
    if std::env::var_os("LIFETRACE_PYTHON").is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stacks");
    let script = fixture::source("python/stacks.py");
    let code = format!(
        "import sys\nscript = {script:?}\nsys.path.insert(0, script[:script.rindex('/')])\n\
         sys.argv = [script, {file:?}]\nexec(compile(open(script).read(), script, 'exec'))"
    );
    let program = fixture::c("late_python");
    let target = Target::new(&[&program]).arguments(&["libpython3.11.so.1.0", &code]);
    let recording = target.record(EXACT);
    let outcome = &recording.outcome;
    assert_eq!((outcome.code, outcome.stderr_text()), (0, String::new()));
    let traces = recording.traces();
    let births = births::of(&traces[0]);
    let blocks: HashMap<_, _> = births.into_iter().map(|it| (8 * it.words, it)).collect();
    let told = told(&file);
    assert!(told.len() >= 40);
    check(&blocks, told);
    // It was heard before, and is afterwards.
    assert_eq!(ledger::recorded(&traces)["hazard_alone"].blocks, 1100);
}

#[test]
fn the_interpreters_own_frames_are_shown_when_asked_for() {
    let has_own = |options: &[&str]| {
        let recording = program("stacks").arguments(&["/dev/null"]).record(options);
        let births = births::of(&recording.traces()[0]);
        let marked = births.iter().filter(|it| it.functions().any(|name| name == "marks.mark"));
        marked.filter(|it| it.functions().any(|name| name.contains("PyEval"))).count()
    };
    assert_eq!(has_own(EXACT), 0);
    assert!(has_own(&[EXACT, &["--native-frames"]].concat()) > 0);
}

/// It is there when the first sample of all is taken.
#[test]
fn a_python_that_has_come_before_the_first_sample() {
    if std::env::var_os("LIFETRACE_PYTHON").is_some() {
        return;
    }
    let program = fixture::c("late_python");
    let target = Target::new(&[&program]).arguments(&["libpython3.11.so.1.0", HOLDER]);
    let recording = target.record(&["--interval", "512KiB"]);
    assert_eq!(recording.outcome.code, 0, "{:?}", recording.outcome);
    assert!(held(&recording) > 20.0, "{}", said(&recording));
}
