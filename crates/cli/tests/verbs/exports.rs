//! What `export` writes, against golden files.

use crate::*;

fn export(format: &str, trace: &str, more: &[&str]) -> String {
    stdout(&[&["export", "-F", format, trace], more].concat())
}

/// The numbers at the ends of lines.
fn sum(collapsed: &str) -> u64 {
    collapsed.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

#[test]
fn collapsed() {
    check_golden("collapsed.txt", &export("collapsed", "server-1e-5.ctf", &["--metric", "live"]));
}

#[test]
fn collapsed_numbers_add_up() {
    let totals = json(&["report", SMALL, "--json"]);
    for (metric, field, part) in [
        ("allocated", "allocated", "bytes"),
        ("live", "live_at_end", "bytes"),
        ("peak", "peak", "bytes"),
        ("allocated-objects", "allocated", "objects"),
        ("live-objects", "live_at_end", "objects"),
        ("peak-objects", "peak", "objects"),
    ] {
        let expected = totals["totals"][field][part].as_f64().unwrap();
        let found = sum(&export("collapsed", SMALL, &["--metric", metric]));
        assert!((found as f64 - expected).abs() <= 0.5, "{metric}: {found} for {expected}");
    }
    assert_eq!(sum(&export("collapsed", SMALL, &["--metric", "samples"])), 1676);
}

#[test]
fn a_pipe_is_exported_as_a_file_is() {
    let piped = run_on(&traces().join(SMALL), &["export", "-F", "collapsed", "-"]);
    assert_eq!(text(&piped.stdout), export("collapsed", SMALL, &[]));
}

#[test]
fn an_export_overwrites_nothing_unasked() {
    let scratch = Scratch::new(b"precious");
    let (path, path_text) = (scratch.path(), argument(&scratch.path()).to_owned());
    let arguments = ["export", "-F", "collapsed", SMALL, "-o", &path_text];
    let refused = run(&arguments);
    assert!(text(&refused.stderr).contains("exists already"), "{}", text(&refused.stderr));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    stdout(&[&arguments[..], &["-f"]].concat());
    assert_eq!(fs::read_to_string(&path).unwrap(), export("collapsed", SMALL, &[]));
}
