//! Pipes that close, disks that are full, and command lines that make no sense.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::*;

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let reading = [&["dump", SMALL][..], &["report", "json-1e-5.ctf", "--json", "--top", "100"]];
    let exports = [
        "callsites-csv",
        "callsites-json",
        "collapsed",
        "dhat",
        "events-csv",
        "events-json",
        "firefox",
        "heaptrack",
        "speedscope",
        "svg",
    ];
    let exports = exports.map(|format| ["export", "-F", format, "json-1e-5.ctf"]);
    for arguments in reading.into_iter().chain(exports.iter().map(|arguments| &arguments[..])) {
        let mut child =
            lifetrace(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut start = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut start).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let full = || Stdio::from(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    for verb in ["report", "info", "dump"] {
        let output = lifetrace(&[verb, SMALL]).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{verb}");
        assert!(text(&output.stderr).contains("No space left"), "{}", text(&output.stderr));
    }
}

#[test]
fn nobody_hears_a_message_to_a_full_disk() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = lifetrace(&["info", "no-such-file"]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn nonsense_on_the_command_line_is_refused() {
    for arguments in [
        &["report"][..],
        &["report", SMALL, "--sort", "size"],
        &["frobnicate"],
        &["convert", SMALL],
    ] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}
