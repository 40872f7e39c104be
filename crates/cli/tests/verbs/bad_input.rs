//! Files that are no trace, or no longer a whole one.

use std::fs;
use std::io::Read;

use serde_json::Value;
use tempfile::TempDir;

use crate::*;

/// All verbs complain about a file with these contents in these words, and print nothing.
fn check_unreadable(contents: &[u8], complaints: &[&str]) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("bad.ctf");
    fs::write(&path, contents).unwrap();
    check_refused(argument(&path), complaints);
}

fn check_refused(path: &str, complaints: &[&str]) {
    let copy = TempDir::new().unwrap();
    let copy = copy.path().join("copy");
    for arguments in [
        &["report", path][..],
        &["info", path],
        &["dump", path],
        &["dump", "--packets", path],
        &["check", path],
        &["convert", path, argument(&copy), "--format", "lt"],
    ] {
        let output = run(arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        assert!(message.contains(path), "{message}");
        for complaint in complaints {
            assert!(message.contains(complaint), "no '{complaint}' in: {message}");
        }
    }
    assert!(!copy.exists());
}

#[test]
fn no_trace_at_all() {
    check_refused("no-such-file.ctf", &["No such file"]);
    check_refused("../traces", &["is a directory", "name one of the trace files"]);
    check_unreadable(b"", &["empty", "record again"]);
    check_unreadable(b"\x7fELF\x02\x01\x01\0", &["ELF executable", "lifetrace record -- "]);
    check_unreadable(b"\x1f\x8b\x08\0\0\0\0\0", &["compressed by gzip", "gzip -d"]);
    check_unreadable(b"heaptrack 1.4\nx\n", &["text file"]);
    check_unreadable(b"\xf5LT\x1a\x01\x09", &["begins as a trace", "cut or damaged"]);
    check_unreadable(b"LIFETRACE\xff\x00\x01", &["begins with the bytes 4c 49 46 45"]);
}

/// Packed or not, whatever it is called: the command that reads it is named, or that there is none.
#[test]
fn files_of_other_profilers() {
    let read = |name: &str| fs::read(traces().join("../imports").join(name)).unwrap();
    for name in ["go.pb.gz", "dhat.sqlite3.json.gz", "heaptrack.sqlite3.zst"] {
        let packed = read(name);
        check_unreadable(&packed, &["not a trace", "lifetrace import /"]);
        if name.ends_with(".gz") {
            let mut unpacked = Vec::new();
            flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
            check_unreadable(&unpacked, &["not a trace", "lifetrace import /"]);
        }
    }
    check_unreadable(b"v 10400 3\nX ls\nI 1000 1000\n", &["heaptrack", "lifetrace import /"]);
    for (content, who) in [
        (&b"heap_v2/524288\n"[..], "lifetrace import /"),
        (b"heap profile: 1: 2 [3: 4] @ heapprofile\n", "lifetrace import /"),
        (b"--- heapz 1 ---\n", "lifetrace import heap.pb.gz"),
        (b"desc: --massif-out-file=m\ncmd: ls\n", "lifetrace import /"),
        (b"desc: I1 cache:         32768 B, 64 B, 8-way associative\n", "cg_annotate"),
        (b"PERFILE2h\0\0\0\0\0\0\0", "perf report"),
        (b"{\"head\": {\"callFrame\": {\"functionName\": \"(root)\"", "lifetrace import /"),
        (b"{\"snapshot\":{\"meta\":{\"node_fields\"", "Chrome"),
        (b"{\"meta\":{\"interval\":1,\"startTime\":0", "profiler.firefox.com"),
        (b"\x04\x22\x4d\x18\x60\x40\x82", "memray"),
        (b"memray\0\x0b\0\0\0", "memray"),
    ] {
        check_unreadable(content, &[who]);
    }
}

#[test]
fn so_on_standard_input() {
    let output = run_on(&traces().join("../imports/go.pb.gz"), &["report", "-"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("<stdin>: is a profile of pprof") && said.contains("import -"), "{said}");
}

#[test]
fn a_version_of_the_future() {
    let mut trace = fs::read(traces().join(SMALL)).unwrap();
    trace[28] = 4;
    check_unreadable(&trace, &["byte 0: format version 4", "a newer lifetrace"]);
}

#[test]
fn a_rate_that_makes_no_sense() {
    let mut trace = fs::read(traces().join(SMALL)).unwrap();
    let rate = trace.windows(8).position(|bytes| bytes == 2e-5f64.to_le_bytes()).unwrap();
    trace[rate..rate + 8].copy_from_slice(&2.0f64.to_le_bytes());
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("bad.ctf");
    fs::write(&path, &trace).unwrap();
    let output = run(&["report", argument(&path)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("rate"), "{}", text(&output.stderr));
}

#[test]
fn what_comes_before_the_damage_is_reported() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("cut.ctf");
    let whole = fs::read(traces().join(SMALL)).unwrap();
    fs::write(&path, &whole[..100_000]).unwrap();

    let output = run(&["report", argument(&path), "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(
        message.contains("cut.ctf: byte 100000: the file ends in the middle of a packet"),
        "{message}"
    );
    assert!(message.contains("all events before that are used"), "{message}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["damage"]["offset"], 100_000);
    assert!(report["trace"]["samples"].as_u64().unwrap() > 500);

    let page = text(&run(&["report", argument(&path)]).stdout);
    assert!(page.contains("Note: the trace is damaged"), "{page}");
}

/// No change of a trace makes a verb crash.
#[test]
fn any_damage_is_survived() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("bad.ctf");
    let whole = fs::read(traces().join("ocamlopt-1e-6.ctf")).unwrap();
    for seed in 0..45u64 {
        let place = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize % whole.len();
        let mut trace = whole.clone();
        match seed % 3 {
            0 => trace.truncate(place),
            1 => trace[place] ^= 1 << (seed / 3 % 8),
            _ => trace[place % 2048] = seed as u8,
        }
        fs::write(&path, &trace).unwrap();
        for verb in ["report", "dump"] {
            let output = run(&[verb, argument(&path)]);
            assert!(
                matches!(output.status.code(), Some(0 | 1)),
                "{verb}, seed {seed}: {:?}",
                output.status
            );
            assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
        }
    }
}
