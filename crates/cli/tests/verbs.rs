//! The verbs that read traces, as one types them: what they print, and what they make of bad input.
//!
//! Expected pages are in `golden/`; `LIFETRACE_BLESS=1 cargo test -p lifetrace-cli --test verbs` writes
//! them anew.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const SMALL: &str = "reference-ocamlopt.ctf";

/// The command, in the folder of the traces, where the environment decides nothing.
fn lifetrace(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lifetrace"));
    command.args(arguments).current_dir(traces());
    for variable in ["COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(variable);
    }
    command
}

fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces")
}

fn run(arguments: &[&str]) -> Output {
    lifetrace(arguments).output().unwrap()
}

/// The stdout of a command that has no reason to complain.
fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(arguments)).unwrap()
}

/// A path as an argument.
fn argument(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn check_golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("LIFETRACE_BLESS").is_some() {
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} differs; found:\n{found}");
}

mod pages {
    use super::*;

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
        check_golden(
            "report.json",
            &stdout(&["report", "listmap-1e-5.ctf", "--json", "--top", "1"]),
        );
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
        let (whole, short) =
            (stdout(&["dump", SMALL]), stdout(&["dump", SMALL, "--no-backtraces"]));
        assert!(whole.lines().skip(1).map(cut).eq(short.lines().skip(1).map(str::to_owned)));
        assert_eq!(whole.lines().count(), 1 + 1676 + 257 + 1566);
    }

    #[test]
    fn completions() {
        for (shell, expected) in [
            ("bash", "_lifetrace()"),
            ("fish", "complete -c lifetrace"),
            ("zsh", "#compdef lifetrace"),
        ] {
            assert!(stdout(&["completions", shell]).contains(expected), "{shell}");
        }
    }

    #[test]
    fn narrow_pages_are_narrow() {
        for width in [60, 80] {
            for trace in [SMALL, "server-1e-5.ctf", "json-1e-5.ctf"] {
                let report = lifetrace(&["report", trace])
                    .env("COLUMNS", width.to_string())
                    .output()
                    .unwrap();
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
}

mod facts {
    use super::*;

    /// What independent readers counted: allocations, promotions, collections, samples.
    fn check(trace: &str, [samples, promotions, collections, words]: [u64; 4]) {
        for verb in ["info", "report"] {
            let facts = &json(&[verb, trace, "--json"])["trace"];
            assert_eq!(facts["samples"], samples);
            assert_eq!(facts["promotions"], promotions);
            assert_eq!(facts["collections"], collections);
            assert_eq!(facts["sampled_words"], words);
            assert_eq!(facts["unmatched_events"], 0);
        }
    }

    #[test]
    fn counts() {
        check("reference-ocamlopt.ctf", [1676, 257, 1566, 1676]);
        check("ocamlopt-1e-6.ctf", [457, 61, 451, 457]);
        check("ocamlopt-1e-5.ctf", [4699, 626, 4617, 4700]);
        check("json-1e-5.ctf", [5099, 323, 5092, 5360]);
        check("listmap-1e-5.ctf", [8757, 1488, 8756, 8757]);
        check("server-1e-5.ctf", [12_254, 550, 12_175, 12_265]);
    }

    /// Horvitz-Thompson and the naive estimate (samples / rate) are of the same amount.
    #[test]
    fn estimates_agree_with_the_number_of_samples() {
        for (trace, samples) in [("json-1e-5.ctf", 5360.0), ("server-1e-5.ctf", 12_265.0)] {
            let report = json(&["report", trace, "--json"]);
            let allocated = &report["totals"]["allocated"];
            let naive = samples / 1e-5 * 8.0;
            let difference = (allocated["bytes"].as_f64().unwrap() - naive).abs();
            assert!(
                difference < allocated["bytes_interval95"].as_f64().unwrap(),
                "{trace}: {difference}"
            );
        }
    }

    #[test]
    fn callsites_add_up_to_the_total() {
        for sort in ["allocated", "live", "peak"] {
            let report =
                json(&["report", "server-1e-5.ctf", "--json", "--top", "1000", "--sort", sort]);
            let key = if sort == "live" { "live_at_end" } else { sort };
            let callsites = report["callsites"].as_array().unwrap();
            assert_eq!(callsites.len() as u64, report["callsites_total"].as_u64().unwrap());
            let bytes = |value: &Value| value[key]["bytes"].as_f64().unwrap();
            let (sum, total): (f64, f64) =
                (callsites.iter().map(bytes).sum(), bytes(&report["totals"]));
            assert!((sum - total).abs() < 1.0, "{sort}: {sum} of {total}");
            let shares: f64 =
                callsites.iter().map(|callsite| callsite["share"].as_f64().unwrap()).sum();
            assert!((shares - 1.0).abs() < 1e-6, "{shares}");
        }
    }

    #[test]
    fn live_samples_are_those_not_collected() {
        let report = json(&["report", "server-1e-5.ctf", "--json"]);
        assert_eq!(report["totals"]["live_at_end"]["samples"], 12_254 - 12_175);
        assert_eq!(report["totals"]["promoted"]["samples"], 550);
    }
}

mod conversion {
    use super::*;

    struct Place(TempDir);

    impl Place {
        fn new() -> Self {
            Self(TempDir::new().unwrap())
        }

        fn path(&self, name: &str) -> String {
            argument(&self.0.path().join(name)).to_owned()
        }
    }

    #[test]
    fn a_copy_has_the_same_bytes() {
        let place = Place::new();
        let copy = place.path("copy.ctf");
        for trace in [SMALL, "server-1e-5.ctf"] {
            stdout(&["convert", "-f", trace, &copy]);
            assert!(fs::read(traces().join(trace)).unwrap() == fs::read(&copy).unwrap(), "{trace}");
        }
    }

    #[test]
    fn older_versions_have_the_same_events() {
        let place = Place::new();
        for version in ["1", "2"] {
            let old = place.path(version);
            stdout(&["convert", SMALL, &old, "--memtrace-version", version]);
            assert_eq!(
                json(&["info", &old, "--json"])["trace"]["format_version"].to_string(),
                version
            );
            assert!(stdout(&["dump", SMALL]) == stdout(&["dump", &old]), "version {version}");
        }
    }

    fn check_refused(arguments: &[&str], complaint: &str) {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(text(&output.stderr).contains(complaint), "{}", text(&output.stderr));
    }

    #[test]
    fn nothing_is_overwritten_unasked() {
        let place = Place::new();
        let target = place.path("precious");
        fs::write(&target, "data").unwrap();
        check_refused(&["convert", SMALL, &target], "use -f");
        assert_eq!(fs::read(&target).unwrap(), b"data");
        stdout(&["convert", SMALL, &target, "-f"]);
        assert_eq!(fs::read(&target).unwrap().len(), 137_067);
    }

    #[test]
    fn a_trace_is_not_converted_onto_itself() {
        let place = Place::new();
        let (trace, hard, soft) = (place.path("trace"), place.path("hard"), place.path("soft"));
        fs::copy(traces().join(SMALL), &trace).unwrap();
        fs::hard_link(&trace, &hard).unwrap();
        std::os::unix::fs::symlink(&trace, &soft).unwrap();
        for alias in [&trace, &hard, &soft] {
            check_refused(&["convert", "-f", &trace, alias], "is the input itself");
        }
        assert_eq!(fs::read(&trace).unwrap().len(), 137_067);
    }

    #[test]
    fn a_full_disk_is_reported_with_what_was_saved() {
        check_refused(
            &["convert", SMALL, "/dev/full", "-f"],
            "/dev/full: after 0 bytes: No space left",
        );
    }

    #[test]
    fn bad_places_are_named() {
        let place = Place::new();
        check_refused(&["convert", SMALL, &place.path("no/such/folder")], "no/such/folder");
        check_refused(&["convert", SMALL, &place.path("")], "is a directory");
    }

    #[test]
    fn what_could_be_read_of_a_damaged_trace_is_kept() {
        let place = Place::new();
        let (cut, saved) = (place.path("cut"), place.path("saved"));
        let whole = fs::read(traces().join(SMALL)).unwrap();
        fs::write(&cut, &whole[..100_000]).unwrap();
        check_refused(&["convert", &cut, &saved], "byte 100000: the file ends");
        let events = |trace: &str| text(&run(&["dump", trace]).stdout);
        assert!(events(&saved) == events(&cut));
        assert!(events(&saved).lines().count() > 1000);
    }
}

mod bad_input {
    use super::*;

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
            &["convert", path, argument(&copy)],
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
        check_unreadable(b"LIFETRACE\xff\x00\x01", &["begins with the bytes 4c 49 46 45"]);
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
}

mod streams {
    use super::*;

    #[test]
    fn a_reader_that_has_seen_enough_is_no_error() {
        for arguments in
            [&["dump", SMALL][..], &["report", "json-1e-5.ctf", "--json", "--top", "100"]]
        {
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
}
