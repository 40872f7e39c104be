//! What processes are called: as they were run, and as they call themselves.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::fixture;
use crate::support::run::{Outcome, Target, file_name, files, lifetrace_verb};

/// Rates at which a fixture's few blocks are sampled for sure.
const EXACT: &[&str] = &["--rate", "1"];

fn info(trace: &Path, options: &[&str]) -> String {
    let words = ["info"].iter().chain(options).map(OsStr::new).chain([trace.as_os_str()]);
    let outcome = lifetrace_verb(&words.collect::<Vec<_>>());
    assert_eq!(outcome.code, 0, "{outcome:?}");
    outcome.stdout_text()
}

fn line<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| Some(line.strip_prefix(name)?.trim()))
}

#[test]
fn a_link_is_called_as_it_was_run() {
    let folder = tempfile::tempdir().unwrap();
    let program = fixture::c("ending");
    let link = folder.path().join("linked");
    symlink(&program, &link).unwrap();
    let login = r#"exec -a -linked "$0" return"#;
    let as_is = Target::new(&[&link]).arguments(&["return"]);
    for target in [as_is, Target::new(&["bash", "-c", login]).arguments(&[link.to_str().unwrap()])]
    {
        let recording = target.record(EXACT);
        let trace = recording.trace_of("linked");
        let told = info(&trace, &[]);
        assert_eq!(line(&told, "program "), Some("linked"), "{told}");
        assert_eq!(line(&told, "executable "), program.to_str(), "{told}");
        let json: serde_json::Value = serde_json::from_str(&info(&trace, &["--json"])).unwrap();
        assert_eq!(json["trace"]["program"], "linked", "{json}");
        assert_eq!(json["trace"]["executable"], program.to_str().unwrap(), "{json}");
    }
}

/// The first argument of the other is somebody's whim.
#[test]
fn a_name_that_nobody_has_run_is_no_programs() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("linked");
    symlink(fixture::c("ending"), &link).unwrap();
    let whim = r#"exec -a "any thing" "$0" return"#;
    let target = Target::new(&["bash", "-c", whim]).arguments(&[link.to_str().unwrap()]);
    target.record(EXACT).trace_of("linked");
}

/// Records a copy of a fixture of this name, by the default template.
fn record_copy(name: &OsStr) -> (Outcome, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(name);
    fs::copy(fixture::c("ending"), &program).unwrap();
    let options = ["--rate", "1"];
    let outcome = Target::new(&[&program]).arguments(&["return"]).folder(folder.path());
    (outcome.record_as(&options), folder)
}

fn only_trace(folder: &Path) -> PathBuf {
    let mut traces = files(folder);
    traces.retain(|path| file_name(path).ends_with(".lt"));
    assert_eq!(traces.len(), 1, "{traces:?}");
    traces.remove(0)
}

#[test]
fn a_program_of_a_very_long_name() {
    for name in ["n".repeat(255), "é".repeat(125)] {
        let (outcome, folder) = record_copy(name.as_ref());
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let trace = file_name(&only_trace(folder.path()));
        assert!(trace.starts_with(&format!("lifetrace.{}", &name[..200])), "{trace}");
        assert!(outcome.stderr_text().contains(&format!("next: lifetrace report {trace}")));
    }
}

#[test]
fn a_program_whose_name_would_drive_a_terminal() {
    let name = std::ffi::OsString::from_vec(b"a\nb\x1b[2J\xff".to_vec());
    let (outcome, folder) = record_copy(&name);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let trace = only_trace(folder.path());
    let clean = file_name(&trace).starts_with("lifetrace.a_b_[2J_.");
    assert!(clean && !trace.as_os_str().as_bytes().contains(&b'\n'), "{trace:?}");
    assert!(!outcome.stderr_text().contains('\x1b'), "{outcome:?}");
    assert_eq!(lifetrace_verb(&[Path::new("report"), &trace]).code, 0);
}

/// Two processes of one program, of which the second gives itself a name, and ends when the trace has it.
#[test]
fn a_process_is_known_by_the_name_that_it_gives_itself() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        r#"$x = "x" x 1e6; exit if fork; $0 = "perl: one of two"; $y = "y" x 1e6; 1 until -e "go""#;
    let target = Target::new(&["perl", "-e", script]).folder(folder.path());
    let name_is_told = || {
        let traces =
            files(folder.path()).into_iter().filter(|path| file_name(path).ends_with("lt"));
        traces.filter(|path| fs::metadata(path).is_ok_and(|it| it.len() > 0)).any(|path| {
            line(&lifetrace_verb(&[Path::new("info"), &path]).stdout_text(), "title ")
                == Some("perl: one of two")
        })
    };
    let outcome = std::thread::scope(|scope| {
        let options = ["--interval", "4KiB", "--counters", "10ms"];
        let recording = scope.spawn(move || target.record_as(&options));
        while !recording.is_finished() && !name_is_told() {}
        fs::write(folder.path().join("go"), "").unwrap();
        recording.join().unwrap()
    });
    let said = outcome.stderr_text();
    assert!(said.contains(", perl: one of two, started after "), "{said}");
    let mut words = vec!["report".into(), "--per-process".into()];
    words.extend(files(folder.path()).into_iter().filter(|path| path.extension().is_some()));
    let words: Vec<_> = words.iter().collect();
    let page = lifetrace_verb(&words).stdout_text();
    let row = page.lines().find(|line| line.ends_with("perl: one of two"));
    assert!(row.is_some() && page.contains("   after   process"), "{page}");
}
