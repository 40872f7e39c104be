//! What somebody meets who is new here: the command alone, wrong words, help, pages of the manual.

use std::process::Command;

use super::{Scratch, argument, lifetrace, run, stdout, text};

#[test]
fn the_command_alone_says_what_one_can_do_next() {
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    let said = text(&output.stderr);
    for step in [
        "lifetrace record",
        "lifetrace attach",
        "lifetrace view",
        "lifetrace doctor",
        "lifetrace help",
    ] {
        assert!(said.contains(step), "{step} is not in\n{said}");
    }
}

#[test]
fn the_version_says_which_formats_are_written() {
    assert_eq!(stdout(&["-V"]), format!("lifetrace {}\n", env!("CARGO_PKG_VERSION")));
    let long = stdout(&["--version"]);
    assert!(long.starts_with(&format!("lifetrace {} (", env!("CARGO_PKG_VERSION"))), "{long}");
    for format in [".lt 2.", ".ctf of Memtrace 3", ".lth 1."] {
        assert!(long.contains(format), "{format} is not in\n{long}");
    }
}

#[test]
fn wrong_words_are_answered_by_the_right_ones() {
    let check = |words: &[&str], meant: &str| {
        let output = run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = text(&output.stderr);
        assert!(said.contains(meant), "{words:?}: {meant} is not in\n{said}");
    };
    check(&["reprot", "x.lt"], "'report'");
    check(&["report", "x.lt", "--filtre", "leaks"], "'--filter'");
    check(&["report", "x.lt", "--leaks"], "'--view leaks'");
    check(&["diff", "a.lt", "b.lt", "c.lt"], "--before A B C --after D E F");
    check(&["report", "--peak", "x.lt"], "'--view peak'");
    check(&["stop", "7"], "'lifetrace detach PID'");
    check(&["show", "x.lt"], "'lifetrace report'");
    check(&["leaks", "x.lt"], "report --view leaks TRACE");
    check(&["export", "x.lt"], "-F is one of collapsed, ");
    check(&["help", "filtres"], "lifetrace help filters");
    check(&["help", "sanpling"], "lifetrace help sampling");
    check(&["help", "quite something else"], "`lifetrace help` has a list");
    check(&["help", "heap", "difff"], "neither a verb nor a topic");
    check(&["man", "recrod"], "lifetrace help record");
}

/// The name of a view where a trace is wanted.
#[test]
fn a_view_that_is_no_file() {
    let output = run(&["report", "leaks", "x.lt"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.starts_with("lifetrace: leaks: there is no such file"), "{said}");
    assert!(said.contains("`lifetrace report --view leaks TRACE`"), "{said}");
}

#[test]
fn help_explains_verbs_and_topics() {
    assert_eq!(stdout(&["help", "report"]), stdout(&["report", "--help"]));
    assert_eq!(stdout(&["help", "heap", "diff"]), stdout(&["heap", "diff", "--help"]));
    let all = stdout(&["help"]);
    let topics = all.split("Topics (`lifetrace help TOPIC`):\n").nth(1).unwrap();
    let topics: Vec<_> = topics.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(topics.len() > 15, "{all}");
    for topic in topics {
        let output = lifetrace(&["help", topic]).env("COLUMNS", "80").output().unwrap();
        let page = text(&output.stdout);
        assert!(output.status.success() && page.lines().count() > 10, "{topic}");
        assert!(!page.contains(".md)"), "{topic} has links that lead nowhere");
    }
}

/// Each verb of `--help` has examples or a reason to be without.
#[test]
fn verbs_have_examples() {
    const PLAIN: [&str; 1] = ["help"];
    for verb in verbs() {
        let help = stdout(&[&verb, "--help"]);
        let has_them = help.contains("\nExamples:\n") || verb == "dump";
        assert!(has_them || PLAIN.contains(&verb.as_str()), "{help}");
    }
}

fn verbs() -> Vec<String> {
    let help = stdout(&["--help"]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let verbs = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    verbs.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

/// Beside the whole command's, one of each verb, which the formatter of manuals finds no fault with.
#[test]
fn each_verb_has_a_page_in_the_manual() {
    let scratch = Scratch::new(b"");
    let folder = scratch.0.path().join("man");
    stdout(&["man", "-o", argument(&folder)]);
    let again = run(&["man", "-o", argument(&folder)]);
    assert!(text(&again.stderr).contains("exists already"), "{again:?}");
    for verb in verbs() {
        let page = folder.join(format!("lifetrace-{verb}.1"));
        assert_eq!(std::fs::read_to_string(&page).unwrap(), stdout(&["man", &verb]), "{verb}");
        let words = ["-man", "-Tutf8", "-P-cbu", "-ww", argument(&page)];
        let formatted = Command::new("groff").args(words).output().unwrap();
        assert!(formatted.status.success());
        assert_eq!(text(&formatted.stderr), "", "{verb}");
        let formatted = text(&formatted.stdout);
        assert!(formatted.contains("SYNOPSIS") && formatted.contains("OPTIONS"), "{formatted}");
        assert!(!formatted.contains("EXTRA"), "{formatted}");
    }
    assert!(folder.join("lifetrace.1").exists());
    assert!(folder.join("lifetrace-heap-diff.1").exists());
}

/// Of this machine, on which everything has to work for the other tests.
#[test]
fn the_doctor_tries_what_matters() {
    let output = run(&["doctor", "perl", "no-such-program"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let found = said.split_once("recording a program from its start\n").unwrap();
    assert!(found.0.ends_with("works    "), "{said}");
    assert!(found.1.trim_start().starts_with("`sh` was recorded here"), "{said}");
    assert!(said.contains("no-such-program: command not found"), "{said}");
    assert!(said.contains("perl can be recorded"), "{said}");
}

#[test]
fn the_doctor_says_what_is_wrong_and_what_to_do() {
    let scratch = Scratch::new(b"");
    // A machine on which there is no shell that is known by its name.
    let output = lifetrace(&["doctor", "--json"]).env("PATH", scratch.0.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = document["findings"].as_array().unwrap();
    let recording =
        findings.iter().find(|it| it["subject"].as_str().unwrap().starts_with("recording"));
    let recording = recording.unwrap();
    assert_eq!(recording["state"], "fails", "{document}");
    assert!(recording["told"].as_str().unwrap().contains("sh: command not found"), "{document}");
    assert!(!recording["remedy"].is_null(), "{document}");
}
