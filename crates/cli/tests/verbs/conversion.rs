//! `convert`, and where traces are written to.

use std::fs;
use std::process::{Command, Stdio};

use lifetrace_trace::lt::{Listing, PacketKind};
use tempfile::TempDir;

use crate::*;

/// A folder for what is written.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub fn path(&self, name: &str) -> String {
        argument(&self.0.path().join(name)).to_owned()
    }

    /// A file with these contents.
    pub fn file(&self, name: &str, contents: &[u8]) -> String {
        let path = self.path(name);
        fs::write(&path, contents).unwrap();
        path
    }

    pub fn len(&self) -> usize {
        fs::read_dir(self.0.path()).unwrap().count()
    }
}

const FIXTURES: [&str; 6] = [
    SMALL,
    "json-1e-5.ctf",
    "listmap-1e-5.ctf",
    "ocamlopt-1e-5.ctf",
    "ocamlopt-1e-6.ctf",
    "server-1e-5.ctf",
];

#[test]
fn a_copy_has_the_same_bytes() {
    let place = Folder::new();
    let copy = place.path("copy.ctf");
    for trace in [SMALL, "server-1e-5.ctf"] {
        stdout(&["convert", "-f", trace, &copy]);
        assert!(fs::read(traces().join(trace)).unwrap() == fs::read(&copy).unwrap(), "{trace}");
    }
}

#[test]
fn there_and_back_is_the_same_file() {
    let place = Folder::new();
    let (there, back, direct) = (place.path("t.lt"), place.path("b.ctf"), place.path("d.ctf"));
    for trace in FIXTURES {
        stdout(&["convert", "-f", trace, &there]);
        stdout(&["convert", "-f", &there, &back]);
        stdout(&["convert", "-f", trace, &direct]);
        assert!(fs::read(&back).unwrap() == fs::read(&direct).unwrap(), "{trace}");
        assert!(fs::read(&there).unwrap().starts_with(b"\xf5LT\x1a"), "{trace}");
        let again = place.path("again.lt");
        stdout(&["convert", "-f", &there, &again]);
        assert!(fs::read(&there).unwrap() == fs::read(&again).unwrap(), "{trace}");
    }
}

#[test]
fn standard_input_and_output() {
    let place = Folder::new();
    let there = place.path("t.lt");
    stdout(&["convert", SMALL, &there]);
    let input = fs::File::open(traces().join(SMALL)).unwrap();
    let mut command = lifetrace(&["convert", "-", "-", "--format", "lt"]);
    let output = command.stdin(input).output().unwrap();
    assert_eq!(text(&output.stderr), "");
    assert!(output.stdout == fs::read(&there).unwrap());
}

#[test]
fn older_versions_have_the_same_events() {
    let place = Folder::new();
    for version in ["1", "2"] {
        let old = place.path(&format!("{version}.ctf"));
        stdout(&["convert", SMALL, &old, "--memtrace-version", version]);
        assert_eq!(json(&["info", &old, "--json"])["trace"]["format_version"].to_string(), version);
        assert!(stdout(&["dump", SMALL]) == stdout(&["dump", &old]), "version {version}");
    }
}

#[test]
fn what_has_no_room_is_told_once() {
    let place = Folder::new();
    let output = run(&["convert", "sample-v1.0.lt", &place.path("t.ctf")]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    for part in ["t.ctf: Memtrace's format has no room for ", " facts", " threads", " sizes"] {
        assert!(message.contains(part), "{message}");
    }
}

pub fn check_refused(arguments: &[&str], complaint: &str) {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    assert!(text(&output.stderr).contains(complaint), "{}", text(&output.stderr));
}

#[test]
fn a_format_must_be_known() {
    let place = Folder::new();
    check_refused(&["convert", SMALL, &place.path("t")], "which format?");
    check_refused(&["convert", SMALL, "-"], "--format lt");
    let arguments = ["convert", SMALL, &place.path("t.lt"), "--memtrace-version", "2"];
    check_refused(&arguments, "leave out --memtrace-version");
    assert_eq!(place.len(), 0);
    stdout(&["convert", SMALL, &place.path("t"), "--format", "lt"]);
}

#[test]
fn nothing_is_overwritten_unasked() {
    let place = Folder::new();
    let target = place.file("precious.ctf", b"data");
    for verb in [&["convert", SMALL, &target][..], &["strip", SMALL, "-o", &target]] {
        check_refused(verb, "use -f");
    }
    assert_eq!(fs::read(&target).unwrap(), b"data");
    stdout(&["convert", SMALL, &target, "-f"]);
    assert_eq!(fs::read(&target).unwrap().len(), 137_067);
    assert_eq!(place.len(), 1);
}

#[test]
fn a_trace_is_not_converted_onto_itself() {
    let place = Folder::new();
    let trace = place.file("trace.ctf", &fs::read(traces().join(SMALL)).unwrap());
    let (hard, soft) = (place.path("hard.ctf"), place.path("soft.ctf"));
    fs::hard_link(&trace, &hard).unwrap();
    std::os::unix::fs::symlink(&trace, &soft).unwrap();
    for alias in [&trace, &hard, &soft] {
        check_refused(&["convert", "-f", &trace, alias], "is the input itself");
    }
    let append = fs::OpenOptions::new().append(true).open(&trace).unwrap();
    let mut command = lifetrace(&["convert", &trace, "-", "--format", "lt"]);
    let output = command.stdout(append).output().unwrap();
    assert!(text(&output.stderr).contains("<stdout>: is the input itself"));
    let input = fs::File::open(&trace).unwrap();
    let output = lifetrace(&["convert", "-", &hard, "-f"]).stdin(input).output().unwrap();
    assert!(text(&output.stderr).contains("is the input itself"));
    assert_eq!(fs::read(&trace).unwrap().len(), 137_067);
}

#[test]
fn a_terminal_is_no_place_for_a_trace() {
    let in_terminal = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
    for output in ["-", "/dev/tty"] {
        let mut command = Command::new("python3");
        command.args(["-c", in_terminal, env!("CARGO_BIN_EXE_lifetrace"), "convert", SMALL]);
        command.args([output, "--format", "lt"]).current_dir(traces()).stdin(Stdio::null());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let message = text(&output.stdout);
        assert!(message.contains("is a terminal") && message.len() < 300, "{message}");
    }
}

#[test]
fn a_full_disk_is_reported_with_what_was_saved() {
    for format in ["memtrace", "lt"] {
        check_refused(
            &["convert", SMALL, "/dev/full", "--format", format],
            "/dev/full: after 0 bytes: No space left",
        );
    }
}

#[test]
fn bad_places_are_named() {
    let place = Folder::new();
    check_refused(&["convert", SMALL, &place.path("no/such/folder.lt")], "no/such/folder.lt");
    check_refused(&["convert", SMALL, &place.path("")], "is a directory");
}

#[test]
fn what_could_be_read_of_a_damaged_trace_is_kept() {
    let place = Folder::new();
    let whole = fs::read(traces().join(SMALL)).unwrap();
    let (cut, saved) = (place.file("cut.ctf", &whole[..100_000]), place.path("saved.ctf"));
    check_refused(&["convert", &cut, &saved], "byte 100000: the file ends");
    let events = |trace: &str| text(&run(&["dump", trace]).stdout);
    assert!(events(&saved) == events(&cut));
    assert!(events(&saved).lines().count() > 1000);
}

/// Our sample with a byte flipped in its second part.
pub fn damaged() -> Vec<u8> {
    let mut trace = fs::read(traces().join("sample-v1.0.lt")).unwrap();
    let packets = Listing::new(&trace[..]).map(Result::unwrap);
    let checkpoints = packets.filter(|packet| packet.kind == PacketKind::Checkpoint);
    let offset = checkpoints.map(|packet| packet.offset as usize).nth(1).unwrap();
    trace[offset + 20] ^= 1;
    trace
}

#[test]
fn damage_in_our_format_is_told_and_the_rest_kept() {
    let place = Folder::new();
    let (damaged, saved) = (place.file("damaged.lt", &damaged()), place.path("saved.lt"));
    let output = run(&["convert", &damaged, &saved]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    for part in ["damaged.lt: byte ", " bytes lost, ", " allocations missing\n", "--repair"] {
        assert!(message.contains(part), "{message}");
    }
    // The copy itself is whole.
    stdout(&["convert", &saved, &place.path("again.lt")]);
    let whole = fs::read(traces().join("sample-v1.0.lt")).unwrap();
    let end = Listing::new(&whole[..]).last().unwrap().unwrap().offset as usize;
    let unfinished = place.file("unfinished.lt", &whole[..end]);
    let output = run(&["convert", "-f", &unfinished, &saved]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("unfinished.lt: was not finished"));
    let copy = place.path("copy.lt");
    stdout(&["convert", "sample-v1.0.lt", &copy]);
    assert!(fs::read(&saved).unwrap() == fs::read(&copy).unwrap());
}

#[test]
fn names_that_promise_other_formats_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let profile = traces().join("../imports/go.pb.gz");
    for (name, hint) in
        [("x.pb.gz", "export -F pprof"), ("x.svg", "export -F svg"), ("x.txt", "x.lt works")]
    {
        let output = path(name);
        for arguments in [
            &["strip", SAMPLE, "-o", &output][..],
            &["slice", SAMPLE, "--time", "0s-1s", "-o", &output],
            &["convert", SAMPLE, &output],
            &["import", argument(&profile), "-o", &output],
        ] {
            let refused = run(arguments);
            let said = text(&refused.stderr);
            assert_eq!(refused.status.code(), Some(1), "{arguments:?}: {said}");
            assert!(said.contains(hint), "{arguments:?}: {said}");
            assert!(!std::path::Path::new(&output).exists());
        }
        run(&["strip", SAMPLE, "-o", &output, "--format", "lt"]);
        assert!(std::path::Path::new(&output).exists(), "{name}");
        std::fs::remove_file(&output).unwrap();
    }
}
