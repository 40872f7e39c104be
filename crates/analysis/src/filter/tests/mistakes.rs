//! What is said of what is no filter. The golden files have it as it is printed.

use super::super::{Filter, Focus, FramePattern, Mistake, ParseError};

const FILTERS: &str = include_str!("mistakes_filters.txt");
const STEPS: &str = include_str!("mistakes_steps.txt");
const PATHS: &str = include_str!("mistakes_paths.txt");

fn check_all<T: std::fmt::Debug>(golden: &str, parse: impl Fn(&str) -> Result<T, ParseError>) {
    for case in golden.trim().split("\n\n") {
        let (text, expected) = case.split_once('\n').unwrap_or((case, ""));
        let text = text.strip_prefix("> ").unwrap_or("");
        let said = parse(text).map_or_else(|error| error.to_string(), |read| format!("{read:?}"));
        assert_eq!(said, expected, "\n\n> {text}\n{said}\n");
    }
}

#[test]
fn of_filters() {
    check_all(FILTERS, |text| text.parse::<Filter>());
}

#[test]
fn of_steps() {
    check_all(STEPS, FramePattern::parse);
}

#[test]
fn of_paths() {
    check_all(PATHS, Focus::parse);
}

#[test]
fn programs_learn_it_as_well() {
    let error = "leaks siez>1".parse::<Filter>().unwrap_err();
    assert_eq!(error.mistake, Mistake::UnknownTerm("siez".into()));
    assert_eq!((error.span, error.suggestion), (6..10, Some("size")));
    let error = "size>".parse::<Filter>().unwrap_err();
    assert_eq!(error.span, 5..5);
}

#[test]
fn terminals_are_not_driven() {
    let shown = "fn=\u{1b}[31m\u{202e}\tx,".parse::<Filter>().unwrap_err().to_string();
    assert!(!shown.contains(['\u{1b}', '\u{202e}', '\t']), "{shown:?}");
    let shown = "\u{1b}[31m".parse::<Filter>().unwrap_err().to_string();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn columns_are_those_of_a_terminal() {
    let shown = "fn=日本語 e\u{301}a=x siez>1".parse::<Filter>().unwrap_err().to_string();
    let lines: Vec<_> = shown.lines().collect();
    // Three wide characters, and a mark that takes no column.
    assert_eq!(lines[1..3], ["  fn=日本語 e\u{301}a=x siez>1", "            ^"]);
}

#[test]
fn of_a_long_text_the_part_around_the_mistake_is_shown() {
    let text = format!("fn:{} siez>1 fn:{}", "a".repeat(300), "b".repeat(300));
    let shown = text.parse::<Filter>().unwrap_err().to_string();
    let lines: Vec<_> = shown.lines().collect();
    let line = format!("  …{} siez>1 fn:{}…", "a".repeat(59), "b".repeat(30));
    assert_eq!(lines[1], line);
    assert_eq!(lines[2], format!("{}^^^^", " ".repeat(63)));
}

#[test]
fn a_long_text_is_read_in_linear_time() {
    for text in [
        "size>1 ".repeat(60) + &"x".repeat(1_000_000),
        "\"".repeat(1_000_000),
        "!".repeat(1_000_000),
        format!("fn~{}", "(".repeat(100_000)),
        format!("fn~{}", "a{9999}".repeat(1_000)),
        format!("size>{}", "9".repeat(1_000_000)),
        format!("size>0.{}", "9".repeat(1_000_000)),
    ] {
        assert!(text.parse::<Filter>().is_err(), "{}", &text[..20]);
    }
}
