//! What is done to frames.

use std::collections::HashSet;

use lifetrace_trace::event::Location;
use proptest::prelude::*;

use super::super::*;
use super::backtraces::{line, location};

/// One letter for each function, outermost first; a capital is the same function at another line.
fn locations(letters: &str) -> Vec<Location> {
    let at = |letter: char| {
        location(&letter.to_lowercase().to_string(), "a.c", u32::from(letter.is_uppercase()))
    };
    letters.chars().map(at).collect()
}

fn letters(lines: &[Line<'_>]) -> String {
    lines
        .iter()
        .map(|line| {
            let location = line.location().unwrap();
            if location.line == 1 {
                location.defname.to_uppercase()
            } else {
                (*location.defname).into()
            }
        })
        .collect()
}

/// None if the backtrace is left out.
fn applied(view: &View, backtrace: &str) -> Option<String> {
    let locations = locations(backtrace);
    let mut lines: Vec<_> = locations.iter().map(line).collect();
    view.apply(&mut lines).then(|| letters(&lines))
}

fn focus(path: &str) -> View {
    let focus = Focus::parse(path).unwrap_or_else(|error| panic!("{error}"));
    View { focus: Some(focus), ..View::default() }
}

fn collapsing() -> View {
    View { collapse_recursion: true, ..View::default() }
}

#[test]
fn nothing_is_done_unasked() {
    assert!(View::default().is_empty());
    assert_eq!(applied(&View::default(), "abcab").as_deref(), Some("abcab"));
    assert!(!collapsing().is_empty() && !focus("a").is_empty());
}

#[test]
fn hidden_frames_are_left_out() {
    let hide = |patterns: &[&str]| View {
        hide: patterns.iter().map(|text| FramePattern::parse(text).unwrap()).collect(),
        ..View::default()
    };
    assert!(!hide(&["a"]).is_empty());
    assert_eq!(applied(&hide(&["b"]), "abcbd").as_deref(), Some("acd"));
    assert_eq!(applied(&hide(&["a", "~[bc]"]), "abcbd").as_deref(), Some("d"));
    assert_eq!(applied(&hide(&["file=a.c"]), "abc").as_deref(), Some(""));
    assert_eq!(applied(&hide(&["file=a.c:1"]), "aBc").as_deref(), Some("ac"));
}

#[test]
fn recursion_is_collapsed() {
    let check = |backtrace: &str, expected: &str| {
        assert_eq!(applied(&collapsing(), backtrace).as_deref(), Some(expected), "{backtrace}");
    };
    check("abc", "abc");
    check("aaab", "ab");
    // The innermost call stays.
    check("aAb", "Ab");
    check("ababc", "abc");
    check("abcbd", "abd");
    check("abcad", "ad");
    check("abcdcbe", "abe");
    check("", "");
}

#[test]
fn a_place_without_a_name_is_no_function() {
    let nameless = [location("", "a.c", 1), location("", "a.c", 2), location("", "a.c", 1)];
    let mut lines: Vec<_> = nameless[..2].iter().map(line).collect();
    assert!(collapsing().apply(&mut lines));
    assert_eq!(lines.len(), 2);
    let mut lines: Vec<_> = nameless.iter().map(line).collect();
    assert!(collapsing().apply(&mut lines));
    assert_eq!(lines.len(), 1);
    let namesakes = [location("f", "a.c", 1), location("f", "b.c", 1)];
    let mut lines: Vec<_> = namesakes.iter().map(line).collect();
    assert!(collapsing().apply(&mut lines));
    assert_eq!(lines.len(), 2);
}

#[test]
fn a_path_is_focused_on() {
    let check = |path: &str, backtrace: &str, expected: Option<&str>| {
        assert_eq!(applied(&focus(path), backtrace).as_deref(), expected, "{path} in {backtrace}");
    };
    check("b", "abcd", Some("bcd"));
    check("a", "abcd", Some("abcd"));
    check("d", "abcd", Some("d"));
    check("x", "abcd", None);
    check("b;c", "abcd", Some("bcd"));
    check("b;d", "abcd", None);
    check("b;*;d", "abcd", Some("bcd"));
    check("b;*;c", "abcd", Some("bcd"));
    check("c;*;b", "abcd", None);
    check("a;b;*;c;d", "abxbcd", Some("abxbcd"));
    check("b;*;b", "ab", None);
    check("b;c", "abbcbc", Some("bcbc"));
    check("b;c;d;e", "bcd", None);
    check("fn~[bc]; file=a.c ;d", "abcd", Some("bcd"));
    check("x", "", None);
}

#[test]
fn paths_are_written_as_they_are_read() {
    let check = |text: &str, expected: &str| {
        let focus = Focus::parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(focus.to_string(), expected, "{text}");
        assert_eq!(Focus::parse(expected), Ok(focus), "{text}");
    };
    check("main", "fn=main");
    check("main ; operator new(unsigned long)", "fn=main;fn=\"operator new(unsigned long)\"");
    check("a; * ;b;c", "fn=a;*;fn=b;fn=c");
    check("\"a;b\";c", "fn=\"a;b\";fn=c");
    check("fn=*;operator*", "fn=*;fn=operator*");
}

#[test]
fn hiding_comes_before_collapsing_before_focus() {
    let view = View {
        hide: vec![FramePattern::parse("x").unwrap()],
        collapse_recursion: true,
        focus: Some(Focus::parse("a;b").unwrap()),
        ..View::default()
    };
    assert_eq!(applied(&view, "maxaxbc").as_deref(), Some("abc"));
    // With the recursion collapsed, nobody calls b any more.
    assert_eq!(applied(&view, "mabac").as_deref(), None);
}

proptest! {
    #[test]
    fn collapsed_backtraces(backtrace in "[a-eA-E]{0,30}") {
        let once = applied(&collapsing(), &backtrace).unwrap();
        prop_assert_eq!(applied(&collapsing(), &once).unwrap(), once.clone());
        let functions: HashSet<_> = once.to_lowercase().chars().collect();
        prop_assert_eq!(functions.len(), once.len());
        prop_assert_eq!(once.chars().last(), backtrace.chars().last());
        let outermost = |text: &str| text.to_lowercase().chars().next();
        prop_assert_eq!(outermost(&once), outermost(&backtrace));
        // By its function: a caller's line may be that of another of its calls.
        let (once, backtrace) = (once.to_lowercase(), backtrace.to_lowercase());
        for pair in once.as_bytes().windows(2) {
            prop_assert!(backtrace.as_bytes().windows(2).any(|call| call == pair));
        }
    }

    #[test]
    fn a_path_without_gaps_is_a_substring(backtrace in "[a-c]{0,10}", path in "[a-c]{1,3}") {
        let steps: Vec<_> = path.chars().map(String::from).collect();
        let expected = backtrace.find(&path).map(|at| &backtrace[at..]);
        let found = applied(&focus(&steps.join(";")), &backtrace);
        prop_assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn a_path_of_gaps_is_a_subsequence(backtrace in "[a-c]{0,10}", path in "[a-c]{1,4}") {
        let steps: Vec<_> = path.chars().map(String::from).collect();
        let mut rest = backtrace.chars();
        let expected = path.chars().all(|step| rest.any(|letter| letter == step));
        prop_assert_eq!(applied(&focus(&steps.join(";*;")), &backtrace).is_some(), expected);
    }
}
