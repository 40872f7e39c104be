//! Conditions that fail a build: exit codes, messages, JSON.

use serde_json::Value;

use crate::*;

const NATIVE: &str = "native-python.lt";
const COARSE: &str = "ocamlopt-1e-6.ctf";
const FINE: &str = "ocamlopt-1e-5.ctf";

/// Exit code and messages; the report must be the same as without conditions.
fn judge(arguments: &[&str], conditions: &[&str], strict: bool) -> (i32, String) {
    let mut with = arguments.to_vec();
    conditions.iter().for_each(|condition| with.extend(["--fail-if", *condition]));
    with.extend(strict.then_some("--strict"));
    let output = run(&with);
    assert!(output.stdout == run(arguments).stdout, "{conditions:?}");
    (output.status.code().unwrap(), text(&output.stderr))
}

fn gates(arguments: &[&str]) -> Vec<Value> {
    let output = run(arguments);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["gates"].as_array().unwrap().clone()
}

#[test]
fn what_is_surely_true_fails() {
    let conditions =
        ["live > 1MB", "peak > 1MiB", "allocated > 40MB", "objects < 5M", "leaked > 0"];
    let (code, messages) = judge(&["report", NATIVE], &conditions, false);
    assert_eq!(code, 1);
    check_golden("gate-report.txt", &messages);
    let conditions = ["allocated > -50%", "allocated > +5%", "objects > -10k", "live > +1MB"];
    let (code, messages) = judge(&["diff", COARSE, FINE], &conditions, false);
    assert_eq!(code, 1);
    check_golden("gate-diff.txt", &messages);
}

/// A budget of a function that is not there any more would hold for ever.
#[test]
fn what_matches_no_frame_is_told() {
    let judge = |arguments: &[&str], strict| {
        judge(&[&["report", NATIVE], arguments].concat(), &["allocated > 1TB"], strict)
    };
    let typo = ["--filter", "fn:PyDict_Sett"];
    let (code, message) = judge(&typo, false);
    assert_eq!(code, 0);
    assert!(message.contains("no frame matches fn:PyDict_Sett"), "{message}");
    assert!(message.contains("did you mean `PyDict_Set"), "{message}");
    assert_eq!(judge(&typo, true).0, 1);
    for right in [["--filter", "not fn:PyDict_Set"], ["--focus", "fn:PyDict_Set"]] {
        assert_eq!(judge(&right, true), (0, String::new()), "{right:?}");
    }
    for option in ["--focus", "--hide", "--machinery"] {
        let message = judge(&[option, "file:no/such"], false).1;
        assert!(message.contains("no frame matches file:no/such"), "{option}: {message}");
    }
    let diff = run(&["diff", COARSE, FINE, "--hide", "fn:no_such_function"]);
    assert!(text(&diff.stderr).contains("no frame matches"), "{diff:?}");
    assert!(diff.status.success());
}

/// It frees all before it exits, so nothing is left that would be a leak.
#[test]
fn a_leak_is_found_that_is_freed_at_the_end() {
    let conditions = ["growth > 1MB/h", "leaked > 1MB", "growth > 1GB/min"];
    let (code, messages) = judge(&["report", "leaking.lt"], &conditions, false);
    assert_eq!(code, 1);
    check_golden("gate-growth.txt", &messages);
    let cache = ["report", "leaking.lt", "--filter", "size > 2500B"];
    assert_eq!(judge(&cache, &["growth > 1MB/h"], false), (0, String::new()));
    let before = ["report", "leaking.lt", "--filter", "alive at 95%"];
    assert_eq!(judge(&before, &["allocated > 5MB"], false).0, 1);
}

#[test]
fn what_may_be_noise_fails_only_if_estimates_decide() {
    for (arguments, condition) in [
        (&["report", NATIVE][..], "allocated > 93MiB"),
        (&["report", NATIVE], "peak > 4MiB"),
        (&["diff", COARSE, FINE], "allocated > +1%"),
        (&["diff", COARSE, FINE], "live > +1MB"),
    ] {
        let (code, message) = judge(arguments, &[condition], false);
        assert!(code == 0 && message.contains("may be true, or that is noise"), "{message}");
        let (code, message) = judge(arguments, &[condition], true);
        assert!(code == 1 && message.contains("--strict takes for true"), "{message}");
    }
}

#[test]
fn what_is_not_true_is_passed_over() {
    let (code, messages) = judge(&["report", NATIVE], &["live > 1GB", "growth > 1GB/s"], true);
    assert_eq!((code, messages.as_str()), (0, ""));
    let (code, messages) = judge(&["diff", NATIVE, NATIVE], &["live > +0", "peak > +0%"], true);
    assert_eq!((code, messages.as_str()), (0, ""));
}

/// Another profiler that records all.
#[test]
fn what_is_exact_is_true_or_not() {
    let scratch = Scratch::new(b"");
    let trace = scratch.path();
    std::fs::remove_file(&trace).unwrap();
    run(&["import", "../imports/heaptrack.sqlite3.zst", "-o", argument(&trace)]);
    let report = ["report", argument(&trace)];
    let totals = &json(&[report[0], report[1], "--json"])["totals"];
    for (metric, total) in [("allocated", "allocated"), ("live", "live_at_end"), ("peak", "peak")] {
        let bytes = totals[total]["bytes"].as_u64().unwrap();
        for (op, code) in [(">", 0), (">=", 1), ("<", 0), ("<=", 1)] {
            let (found, message) = judge(&report, &[&format!("{metric} {op} {bytes}")], false);
            assert_eq!(found, code, "{message}");
            assert_eq!(message.contains(" (exactly), from all "), code == 1, "{message}");
        }
    }
}

#[test]
fn a_filter_is_of_the_conditions_too() {
    let value = |filter: &str| {
        let arguments =
            ["report", NATIVE, "--json", "--filter", filter, "--fail-if", "allocated > 0"];
        gates(&arguments)[0]["value"].as_f64().unwrap()
    };
    let (all, large, small) = (value(""), value("size >= 1KiB"), value("size < 1KiB"));
    assert!(
        large > 0.0 && small > 0.0 && (large + small - all).abs() < 1.0,
        "{all} {large} {small}"
    );
    let reported = json(&["report", NATIVE, "--json"])["totals"]["allocated"]["bytes"].as_f64();
    assert!((reported.unwrap() - all).abs() < 1.0);
}

#[test]
fn programs_learn_it_as_well() {
    let trace = ["report", NATIVE, "--json", "--fail-if", "live > 1MB", "--fail-if", "growth > 0"];
    let diff = ["diff", COARSE, FINE, "--json", "--fail-if", "allocated > -50%"];
    let found = serde_json::json!([gates(&trace), gates(&diff)]);
    check_golden("gates.json", &(serde_json::to_string_pretty(&found).unwrap() + "\n"));
}

/// Two of the same exit code, told apart by what they say.
#[test]
fn damage_is_no_condition() {
    let mut bytes = std::fs::read(traces().join(SAMPLE)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    let damaged = Scratch::new(&bytes);
    let path = damaged.path();
    let damage = run(&["report", argument(&path)]);
    let output = run(&["report", argument(&path), "--fail-if", "allocated > 0"]);
    assert_eq!((damage.status.code(), output.status.code()), (Some(1), Some(1)));
    let (damage, both) = (text(&damage.stderr), text(&output.stderr));
    assert!(!damage.is_empty() && !damage.contains("condition"), "{damage}");
    assert!(
        both.starts_with(&damage) && both.contains("condition is true: allocated > 0B"),
        "{both}"
    );
}

#[test]
fn a_typo_is_pointed_at() {
    for (name, arguments) in [
        ("metric", &["report", NATIVE, "--fail-if", "lvie > 100MB"][..]),
        ("share", &["report", NATIVE, "--fail-if", "live > +5%"]),
        ("sign", &["diff", COARSE, FINE, "--fail-if", "allocated > 5%"]),
        ("growth", &["diff", COARSE, FINE, "--fail-if", "growth > +5%"]),
    ] {
        let output = run(arguments);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""), "{name}");
        check_golden(&format!("gate-error-{name}.txt"), &text(&output.stderr));
    }
    assert_eq!(
        run(&["report", NATIVE, "--strict"]).status.code(),
        Some(2),
        "nothing to be strict with"
    );
}
