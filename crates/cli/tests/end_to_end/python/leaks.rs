//! What is concluded of a server's lines that leak, each in a way of Python's.

use serde_json::Value;

use super::program;
use crate::support::fixture;
use crate::support::run::lifetrace_verb;

/// The lines that leak: a dictionary, a cycle, a list of handlers, a reference that an extension in C forgets.
const LEAKS: [(&str, u64); 4] =
    [("leaks.py", 25), ("leaks.py", 32), ("leaks.py", 51), ("forgets.c", 12)];

/// A line that they have something from.
const THEIRS: (&str, u64) = ("leaks.py", 40);

#[test]
fn lines_that_leak_are_named() {
    let library = fixture::c_library("forgets");
    let target = program("leaks").arguments(&[library.to_str().unwrap(), "12"]);
    let recording = target.record(&["--interval", "4KiB", "--seed", "1"]);
    let outcome = &recording.outcome;
    assert_eq!((outcome.code, &*outcome.stdout_text()), (0, "5000 500\n"), "{outcome:?}");
    let trace = recording.traces().remove(0);
    let page = lifetrace_verb(&["report", "--json", "--view", "leaks", trace.to_str().unwrap()]);
    let page: Value = serde_json::from_str(&page.stdout_text()).unwrap();
    assert_eq!(page["verdict"], "leaks", "{page:#}");
    let leaks: Vec<(&str, u64)> = leaks(&page).collect();
    assert!(LEAKS.iter().all(|it| leaks.contains(it)), "{leaks:?}");
    assert!(leaks.iter().all(|it| LEAKS.contains(it) || *it == THEIRS), "{leaks:?}");
    // Nothing points to what has a reference too many.
    let lost = &page["lost"];
    assert!(lost.to_string().contains("make_tag"), "{lost:#}");
}

/// The files and lines.
fn leaks(page: &Value) -> impl Iterator<Item = (&str, u64)> {
    let callsites = page["callsites"].as_array().unwrap().iter();
    let leaks = callsites.filter(|it| it["kind"] == "leak");
    leaks.map(|it| {
        let file = it["file"].as_str().unwrap();
        (file.rsplit('/').next().unwrap(), it["line"].as_u64().unwrap())
    })
}
