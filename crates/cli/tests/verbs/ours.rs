//! Traces in our own format: the same events give the same pages, and what only it can tell is told.

use serde_json::{Value, json};

use crate::*;

const TWINS: [(&str, &str); 3] = [
    ("ocamlopt-1e-6.ctf", "ocamlopt-1e-6-v1.0.lt"),
    ("listmap-1e-5.ctf", "listmap-1e-5-v1.0.lt"),
    ("server-1e-5.ctf", "server-1e-5-v1.0.lt"),
];

#[test]
fn the_same_events_give_the_same_pages() {
    for (theirs, ours) in TWINS {
        for arguments in [
            &["dump"][..],
            &["dump", "--no-backtraces"],
            &["report", "--top", "100"],
            &["report", "--sort", "live"],
        ] {
            let page = |trace| stdout(&[arguments, &[trace]].concat());
            assert!(page(theirs) == page(ours), "{arguments:?} of {ours}");
        }
    }
}

/// Both formats' reports are equal but for what is about the file.
#[test]
fn the_same_events_give_the_same_numbers() {
    for (theirs, ours) in TWINS {
        let mut reports = [theirs, ours].map(|trace| json(&["report", "--json", trace]));
        for report in &mut reports {
            let trace = report["trace"].as_object_mut().unwrap();
            for about_the_file in
                ["file", "file_bytes", "format", "format_version", "format_minor_version"]
            {
                assert!(trace.remove(about_the_file).is_some());
            }
            for ours_only in ["complete", "contents", "facts"] {
                trace.remove(ours_only).unwrap();
            }
        }
        assert_eq!(reports[0], reports[1], "{ours}");
    }
}

#[test]
fn all_that_is_told_is_shown() {
    check_golden("info-sample.txt", &stdout(&["info", SAMPLE]));
    check_golden("info-sample.json", &stdout(&["info", SAMPLE, "--json"]));
    check_golden("dump-sample.txt", &stdout(&["dump", SAMPLE, "--all-columns"]));
}

#[test]
fn facts_are_lines_of_their_own() {
    let (all, events) = (stdout(&["dump", SAMPLE]), stdout(&["dump", SAMPLE, "--no-facts"]));
    let is_fact = |line: &&str| line.split('\t').nth(1) == Some("fact");
    assert_eq!(all.lines().filter(is_fact).count(), 61);
    assert!(all.lines().filter(|line| !is_fact(line)).eq(events.lines()));
}

#[test]
fn more_columns_are_added_and_the_others_stay() {
    for trace in [SAMPLE, SMALL] {
        let few = stdout(&["dump", trace, "--no-backtraces"]);
        let all = stdout(&["dump", trace, "--no-backtraces", "--all-columns"]);
        for (few, all) in few.lines().zip(all.lines()).skip(1) {
            let columns: Vec<_> = all.split('\t').collect();
            let kept = match columns[1] {
                "allocation" => columns.len() - 4,
                "fact" => columns.len(),
                _ => columns.len() - 1,
            };
            assert_eq!(columns[..kept].join("\t"), few);
            assert!(trace == SAMPLE || columns[kept..].iter().all(|column| *column == "-"));
        }
    }
}

#[test]
fn a_report_says_what_the_recording_missed() {
    let page = stdout(&["report", SAMPLE]);
    for note in [
        "Note: 17 events were lost before they reached the trace (ring-full)",
        "Note: 15 backtraces lack their outermost frames",
    ] {
        assert!(page.contains(note), "{page}");
    }
    let facts = &json(&["report", SAMPLE, "--json"])["trace"]["facts"];
    assert_eq!(facts["lost"], json!({"ring-full": 17}));
    assert_eq!(facts["truncated_backtraces"], 15);
}

#[test]
fn standard_input_is_a_trace_as_any_other() {
    for trace in [SAMPLE, SMALL] {
        for arguments in [
            &["dump"][..],
            &["dump", "--packets"],
            &["report"],
            &["report", "--json"],
            &["info", "--json"],
            &["check"],
        ] {
            let from_file = stdout(&[arguments, &[trace]].concat());
            let output = run_on(&traces().join(trace), &[arguments, &["-"]].concat());
            assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
            let without_name = |page: &str| match page.starts_with('{') {
                true => nameless(page).to_string(),
                // What the index says is not found before all has been read.
                false => page.lines().filter(|line| !line.contains("per event")).collect(),
            };
            let expected = without_name(&from_file).replace(trace, "<stdin>");
            assert_eq!(without_name(&text(&output.stdout)), expected, "{arguments:?}");
        }
    }
}

fn nameless(page: &str) -> Value {
    let mut document: Value = serde_json::from_str(page).unwrap();
    let trace = document["trace"].as_object_mut().unwrap();
    assert!(trace.remove("file").is_some() && trace.remove("file_bytes").is_some());
    document
}
