//! `check --repair`.

use std::fs;

use lifetrace_trace::fact::Fact;
use lifetrace_trace::lt::{Item, Reader};
use lifetrace_trace::transfer::DAMAGED;

use crate::conversion::{Folder, check_refused, damaged};
use crate::*;

#[test]
fn a_damaged_trace_becomes_a_whole_one() {
    let place = Folder::new();
    let (trace, saved) = (place.file("damaged.lt", &damaged()), place.path("saved.lt"));
    let output = run(&["check", "--repair", &trace, "-o", &saved]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    for part in ["damaged.lt: byte ", "saved.lt: ", " allocations saved, ", " missing"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("--repair"), "{message}");
    stdout(&["check", &saved]);
    let bytes = fs::read(&saved).unwrap();
    let mut reader = Reader::open(&bytes[..]).unwrap();
    let mut lost = Vec::new();
    while let Some((_, item)) = reader.next().unwrap() {
        if let Item::Fact(Fact::Lost(fact)) = item {
            lost.push(fact);
        }
    }
    assert!(reader.is_complete() && reader.damages().is_empty());
    let of_damage = lost.iter().find(|fact| &*fact.reason == DAMAGED).unwrap();
    assert!(of_damage.count > 20, "{of_damage:?}");
}

#[test]
fn a_whole_trace_is_copied() {
    let place = Folder::new();
    for (trace, name) in [(SMALL, "a.ctf"), ("server-1e-5-v2.1.lt", "b.lt")] {
        let saved = place.path(name);
        let output = run(&["check", "--repair", trace, "-o", &saved]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stderr).contains("all that there were"));
        assert!(fs::read(traces().join(trace)).unwrap() == fs::read(&saved).unwrap(), "{trace}");
    }
}

#[test]
fn a_cut_trace_of_memtraces() {
    let place = Folder::new();
    let whole = fs::read(traces().join(SMALL)).unwrap();
    let (cut, saved) = (place.file("cut.ctf", &whole[..100_000]), place.path("saved.ctf"));
    let output = run(&["check", "--repair", &cut, "-o", &saved]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("byte 100000: the file ends"));
    assert!(stdout(&["dump", &saved]) == text(&run(&["dump", &cut]).stdout));
    let rubbish = place.file("rubbish.lt", b"rubbish");
    let arguments = ["check", "--repair", &rubbish, "-o", &saved, "-f"];
    check_refused(&arguments, "rubbish.lt: not a trace");
}
