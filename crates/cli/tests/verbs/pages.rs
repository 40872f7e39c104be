//! What the verbs print, against golden files.

use crate::*;

#[test]
fn report() {
    check_golden("report.txt", &stdout(&["report", SMALL]));
}

#[test]
fn report_by_live_bytes() {
    check_golden(
        "report-live.txt",
        &stdout(&["report", "server-1e-5.ctf", "--sort", "live", "--top", "3"]),
    );
}

#[test]
fn report_of_deep_recursion() {
    check_golden(
        "report-recursion.txt",
        &stdout(&["report", "listmap-1e-5.ctf", "--sort", "count"]),
    );
}

#[test]
fn report_as_json() {
    check_golden("report.json", &stdout(&["report", "listmap-1e-5.ctf", "--json", "--top", "1"]));
}

#[test]
fn info() {
    check_golden("info.txt", &stdout(&["info", SMALL]));
    check_golden("info.json", &stdout(&["info", SMALL, "--json"]));
}

#[test]
fn dump() {
    let dump = stdout(&["dump", "server-1e-5.ctf"]);
    let start: String = dump.split_inclusive('\n').take(30).collect();
    check_golden("dump-start.txt", &start);
    check_golden(
        "dump-no-backtraces.txt",
        &stdout(&["dump", "ocamlopt-1e-6.ctf", "--no-backtraces"]),
    );
}

#[test]
fn a_dump_without_backtraces_is_the_dump_without_backtraces() {
    let cut = |line: &str| line.split('\t').take(7).collect::<Vec<_>>().join("\t");
    let (whole, short) = (stdout(&["dump", SMALL]), stdout(&["dump", SMALL, "--no-backtraces"]));
    assert!(whole.lines().skip(1).map(cut).eq(short.lines().skip(1).map(str::to_owned)));
    assert_eq!(whole.lines().count(), 1 + 1676 + 257 + 1566);
}

#[test]
fn completions() {
    for (shell, expected) in
        [("bash", "_lifetrace()"), ("fish", "complete -c lifetrace"), ("zsh", "#compdef lifetrace")]
    {
        assert!(stdout(&["completions", shell]).contains(expected), "{shell}");
    }
}

#[test]
fn narrow_pages_are_narrow() {
    for width in [60, 80] {
        for trace in [SMALL, "server-1e-5.ctf", "json-1e-5.ctf"] {
            let report =
                lifetrace(&["report", trace]).env("COLUMNS", width.to_string()).output().unwrap();
            for line in text(&report.stdout).lines() {
                assert!(line.chars().count() <= width, "{width} columns: {line}");
            }
        }
    }
}

#[test]
fn colours_are_for_terminals_and_those_who_insist() {
    let is_coloured = |variables: &[(&str, &str)]| {
        let report =
            lifetrace(&["report", SMALL]).envs(variables.iter().copied()).output().unwrap();
        text(&report.stdout).contains('\x1b')
    };
    assert!(!is_coloured(&[]));
    assert!(is_coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&[("NO_COLOR", "1")]));
}
