//! What a command starts in passing: many helpers in which nothing is sampled, and programs that cannot be
//! traced.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::fixture;
use crate::support::run::{Target, file_name, files, lifetrace_verb};

/// So rarely that a shell's few blocks are missed by this seed.
const RARELY: [&str; 4] = ["--interval", "16MiB", "--seed", "7"];

fn traces(folder: &Path) -> Vec<PathBuf> {
    files(folder).into_iter().filter(|path| file_name(path).ends_with(".lt")).collect()
}

#[test]
fn helpers_leave_no_empty_traces() {
    let script = "for i in 1 2 3 4 5 6 7; do (exit 0); expr $i : x; true | sed s/a/b/; done; :";
    let target = Target::new(&["sh", "-c", script]);
    let folder = tempfile::tempdir().unwrap();
    let outcome = target.clone().folder(folder.path()).record_as(&RARELY);
    let names: Vec<_> = traces(folder.path()).iter().map(|path| file_name(path)).collect();
    assert!(names.len() == 1 && names[0].starts_with("lifetrace.sh."), "{names:?}");
    let said = outcome.stderr_text();
    assert!(said.contains("lifetrace: 28 traces more are not kept"), "{said}");
    assert!(
        said.ends_with("lifetrace: nothing was sampled; `--interval 1` records every block\n"),
        "{said}"
    );
    assert!(!said.contains("not traced") && !said.contains("next: "), "{said}");

    let all = target.record(&RARELY).traces();
    assert_eq!(all.len(), 29, "{all:?}");
}

/// Of two shells, one starts something of which there is a trace. The command's own file is what was asked
/// for.
#[test]
fn who_has_started_what_is_known_if_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let big = r#"perl -e '$x = "x" x 300e6'"#;
    let script = "(exit 0); bash -c '$0; :' true; bash -c 'eval \"$0\"; :' \"$BIG\"; :";
    let target = Target::new(&["sh", "-c", script]).environment(&[("BIG", big)]);
    let options = [&RARELY[..], &["-o", "x.lt"]].concat();
    let outcome = target.folder(folder.path()).record_as(&options);
    let said = outcome.stderr_text();
    let traces = traces(folder.path());
    assert!(traces.len() == 3 && file_name(&traces[2]) == "x.lt", "{traces:?} {said}");
    let words: Vec<_> =
        [PathBuf::from("report"), "--per-process".into()].into_iter().chain(traces).collect();
    let page = lifetrace_verb(&words.iter().collect::<Vec<_>>()).stdout_text();
    let rows: Vec<_> = page.lines().filter(|line| line.contains('%')).collect();
    assert!(page.contains("     bash -c") && page.contains("       perl -e"), "{rows:?}\n{page}");
}

/// Both wait for a file, which comes when they have been looked at often enough.
#[test]
fn programs_that_cannot_be_traced_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (fixed, usual) = (fixture::c_static("becomes"), fixture::c("becomes"));
    let script = r#""$0" wait go & env -i "$1" wait go & echo > started; wait"#;
    let target = Target::new(&["sh", "-c", script, fixed.to_str().unwrap()])
        .arguments(&[usual.to_str().unwrap()])
        .folder(folder.path());
    let trace = folder.path().join("x.lt");
    let looks = || {
        let dump = lifetrace_verb(&[Path::new("dump"), &trace]).stdout_text();
        dump.matches("\tcounters\t").count()
    };
    let outcome = std::thread::scope(|scope| {
        let options = ["--counters", "10ms", "--interval", "1GiB", "-o", "x.lt"];
        let recording = scope.spawn(move || target.record_as(&options));
        let started = folder.path().join("started");
        while !recording.is_finished() && !started.exists() {}
        let before = looks();
        while !recording.is_finished() && looks() < before + 20 {}
        fs::write(folder.path().join("go"), "").unwrap();
        recording.join().unwrap()
    });
    let said = outcome.stderr_text();
    assert!(said.contains("2 processes were not traced, as far as was seen: "), "{said}");
    assert!(said.contains(&format!("{} (statically linked)", fixed.display())), "{said}");
    assert!(
        said.contains(&format!(
            "{} (LD_PRELOAD and LIFETRACE_SOCKET are not in its",
            usual.display()
        )),
        "{said}"
    );
    assert!(!said.contains("nothing was sampled; "), "{said}");
}

/// So short that it may not be seen; but what it had is told when it is waited for.
#[test]
fn memory_that_no_traced_process_has_had_is_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("go"), "").unwrap();
    let fixed = fixture::c_static("becomes");
    let check = |fixed: &Path, is_told: bool| {
        let target = Target::new(&["sh", "-c", "\"$0\" wait go; :", fixed.to_str().unwrap()]);
        let outcome = target.folder(folder.path()).record_as(&["-f", "-o", "x.lt"]);
        let said = outcome.stderr_text();
        assert_eq!(
            said.contains("was resident in") || said.contains("not traced had"),
            is_told,
            "{said}"
        );
    };
    check(&fixed, true);
    check(&fixture::c("becomes"), false);
}
