//! `attach --sources mmap`: what programs that run already map from then on, exactly.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::attached::Attached;
use crate::support::fixture;
use crate::support::ledger::recorded;
use crate::support::run::{lifetrace, lifetrace_verb};

const WORDS_OF_A_PAGE: i64 = 512;
const MIB: u64 = 1 << 20;

/// Of each function of the fixture: births, pages of these, and pages that are left. Of all others nothing is told: of what
/// was there before, of what the C library maps for itself, and of what comes afterwards.
const EXPECTED: [(&str, [i64; 3]); 9] = [
    ("hazard_kept", [3, 192, 192]),
    ("hazard_dropped", [100, 400, 0]),
    ("hazard_trimmed", [3, 72, 16]),
    ("hazard_partly", [2, 12, 4]),
    ("hazard_opened", [2, 8, 8]),
    ("hazard_grown", [1, 24, 24]),
    ("hazard_refused", [1, 2, 2]),
    ("hazard_break", [2, 8, 3]),
    ("hazard_pointer", [1, 2, 2]),
];

/// Of two threads: a hundred and one of ten pages each, and one of six that a destructor unmaps, whose call returns to the C
/// library.
const OF_THREADS: (&str, [i64; 3]) = ("hazard_thread", [204, 2032, 20]);

fn expected() -> BTreeMap<String, [i64; 3]> {
    EXPECTED.into_iter().chain([OF_THREADS]).map(|(name, of)| (name.to_owned(), of)).collect()
}

fn found(traces: &[PathBuf]) -> BTreeMap<String, [i64; 3]> {
    let pages = |words: i64| words / WORDS_OF_A_PAGE;
    let totals = recorded(traces).into_iter();
    totals.map(|(name, of)| (name, [of.blocks, pages(of.words), pages(of.live)])).collect()
}

fn started(mode: &[&str]) -> Attached {
    Attached::of(Command::new(fixture::c("attached_mappings")).args(mode))
}

fn do_in(program: &mut Attached, what: &str) {
    assert_eq!(program.say(what), "done\n", "{what}");
}

fn mapped(trace: &Path) -> Value {
    let page = lifetrace_verb(&["report", "--json", trace.to_str().unwrap()]);
    assert_eq!(page.code, 0, "{page:?}");
    let page: Value = serde_json::from_slice(&page.stdout).unwrap();
    page["mapped"].clone()
}

fn page(trace: &Path) -> String {
    lifetrace_verb(&["report", trace.to_str().unwrap()]).stdout_text().replace('\n', " ")
}

#[test]
fn each_way_is_heard_from_then_on() {
    let mut program = started(&["steps"]);
    let code = program.code();
    do_in(&mut program, "before");
    let recorder = program.attach_on(&["--sources", "mmap"]);
    assert!(recorder.line.contains("attached to process"), "{}", recorder.line);
    do_in(&mut program, "while");
    let (ended, said) = recorder.terminate();
    assert_eq!(ended, Some(0), "{said}");
    assert!(program.code() == code, "some byte was not put back");
    do_in(&mut program, "after");
    let trace = program.trace();
    assert_eq!(found(std::slice::from_ref(&trace)), expected());
    let page = page(&trace);
    assert!(page.contains("what was mapped since it is recorded, exactly"), "{page}");
    assert!(page.contains("blocks from before are not known"), "{page}");
    let (ended, rest) = program.finish();
    assert_eq!((ended, &*rest), (Some(0), "ok\n"));
}

/// What leads to hooks is made once, whether it is used or not.
#[test]
fn now_with_and_now_without_mappings() {
    let mut program = started(&["steps"]);
    for sources in ["native", "native,mmap", "native", "all", "mmap"] {
        do_in(&mut program, "before");
        // Of malloc's blocks all are recorded, too, which those who read the trace here rely on.
        let exact: &[&str] = if sources == "mmap" { &[] } else { &["--interval", "1"] };
        let recorder = program.attach_on(&[&["--sources", sources], exact].concat());
        do_in(&mut program, "while");
        let (ended, said) = recorder.terminate();
        assert_eq!(ended, Some(0), "{sources}: {said}");
        let of_mappings = match sources {
            "native" => BTreeMap::new(),
            _ => expected(),
        };
        let mut found = found(&[program.trace()]);
        // What malloc gave is sampled.
        found.remove("hazard_libc");
        assert_eq!(found, of_mappings, "{sources}");
        assert_eq!(mapped(&program.trace()).is_null(), sources == "native", "{sources}");
    }
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

#[test]
fn children_tell_theirs() {
    let mut program = started(&["steps"]);
    do_in(&mut program, "before");
    let recorder = program.attach_on(&["--sources", "mmap"]);
    do_in(&mut program, "child");
    let (ended, said) = recorder.terminate();
    assert_eq!(ended, Some(0), "{said}");
    let expected = BTreeMap::from([("hazard_child".to_owned(), [1, 7, 7])]);
    assert_eq!(found(&program.traces()), expected, "{:?}", program.traces());
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

/// Threads are in these functions, in their first instructions and in the kernel for them, whenever that begins and ends. On a
/// busy machine a thread may not get its turn to be stopped, which leaves things as they are; the next one goes on with that.
#[test]
fn again_and_again_while_threads_map() {
    const ROUNDS: usize = 50;
    let program = started(&["churn", "2"]);
    let code = program.code();
    let (mut done, mut heard) = (0, 0);
    for round in 0..ROUNDS {
        let outcome =
            program.attach(&["--sources", "mmap", "--duration", "5ms", "-q", "--keep-empty"]);
        let said = outcome.stderr_text();
        assert!(outcome.code == 0 || said.contains("could not be stopped"), "{round}: {outcome:?}");
        if outcome.code == 0 {
            assert!(program.code() == code, "some byte was not put back in round {round}");
            heard += births(&program.trace());
            done += 1;
        }
    }
    assert!(done > ROUNDS / 2, "{done} rounds of {ROUNDS}");
    assert!(heard > 0, "nothing was heard in any of them");
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

fn births(trace: &Path) -> u64 {
    let page = lifetrace_verb(&["report", "--json", trace.to_str().unwrap()]);
    let page: Value = serde_json::from_slice(&page.stdout).unwrap();
    page["totals"]["allocated"]["samples"].as_u64().unwrap()
}

#[test]
fn children_that_enter_a_sandbox_while_mappings_are_heard() {
    let program = Attached::start(&["sandboxes"]);
    let options = ["--sources", "all", "--interval", "1", "--duration", "500ms", "-q"];
    let outcome = program.attach(&options);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let (code, rest) = program.finish();
    assert!(code == Some(0) && rest.ends_with("ok\n"), "{rest}");
}

/// Its module `mmap` is loaded when it is attached to already.
#[test]
fn python_that_runs() {
    const PROGRAM: &str = "import sys\nprint('ready', flush=True)\nsys.stdin.readline()\nimport mmap\n\
                           kept = mmap.mmap(-1, 50 << 20)\nkept[0:1 << 20] = b'x' * (1 << 20)\n\
                           print('done', flush=True)\nsys.stdin.read()";
    let mut program = Attached::of(Command::new("/usr/bin/python3").args(["-c", PROGRAM]));
    let recorder = program.attach_on(&["--sources", "native,mmap"]);
    do_in(&mut program, "go");
    let (ended, said) = recorder.terminate();
    assert_eq!(ended, Some(0), "{said}");
    let mapped = mapped(&program.trace());
    assert_eq!(mapped["program"]["bytes"], 50 * MIB, "{mapped}");
    let resident = mapped["program"]["resident_bytes"].as_u64().unwrap();
    assert!((MIB..8 * MIB).contains(&resident), "{mapped}");
    assert_eq!(program.finish().0, Some(0));
}

/// Where all of a mapping is addresses, and a part of it memory.
#[test]
fn what_is_resident_is_told() {
    let mut program = started(&["sparse"]);
    let recorder = program.attach_on(&["--sources", "mmap"]);
    do_in(&mut program, "go");
    let (ended, said) = recorder.terminate();
    assert_eq!(ended, Some(0), "{said}");
    check_sparse(&program.trace(), "since it is recorded");
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}

fn check_sparse(trace: &Path, page_has: &str) {
    let mapped = mapped(trace);
    assert_eq!(mapped["program"]["bytes"], 256 * MIB, "{mapped}");
    let resident = mapped["program"]["resident_bytes"].as_u64().unwrap();
    assert!((16 * MIB..24 * MIB).contains(&resident), "{mapped}");
    let page = page(trace);
    assert!(
        page.contains("256 MiB in 1 mapping by the program (1") && page.contains(page_has),
        "{page}"
    );
}

/// At its end, as well as at that of the recording.
#[test]
fn what_is_resident_at_a_programs_end_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.lt");
    let mut command = Command::new(lifetrace());
    command.args(["record", "-q", "--sources", "mmap", "-o"]).arg(&trace);
    let mut program = Attached::of(command.arg(fixture::c("attached_mappings")).arg("sparse"));
    do_in(&mut program, "go");
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
    check_sparse(&trace, "Mapped at the end, exactly");
}

/// By a system call of the program's own.
#[test]
fn what_nobody_was_heard_to_map_is_told() {
    let mut program = started(&["unheard"]);
    let recorder = program.attach_on(&["--sources", "mmap"]);
    let (ended, said) = recorder.terminate();
    assert_eq!(ended, Some(0), "{said}");
    let unheard = |program: &Attached| {
        let mapped = mapped(&program.trace());
        let of = |name| mapped["unheard"][name].as_u64().unwrap();
        [of("bytes"), of("resident_bytes")]
    };
    let [bytes, resident] = unheard(&program);
    let recorder = program.attach_on(&["--sources", "mmap"]);
    do_in(&mut program, "go");
    let (ended, said) = recorder.terminate();
    assert_eq!(ended, Some(0), "{said}");
    let [more_bytes, more_resident] = unheard(&program);
    let slack = 4 * MIB;
    for (more, less) in [(more_bytes, bytes), (more_resident, resident)] {
        assert!((64 * MIB..64 * MIB + slack).contains(&(more - less)), "{more} {less}");
    }
    assert_eq!(mapped(&program.trace())["program"]["bytes"], 0);
    let page = page(&program.trace());
    assert!(page.contains("Mapped by nobody that was heard: "), "{page}");
    assert!(page.contains("before the recording, by the C library itself"), "{page}");
    assert_eq!(program.finish(), (Some(0), "ok\n".to_owned()));
}
