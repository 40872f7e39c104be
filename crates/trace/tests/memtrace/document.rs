//! `docs/format-memtrace.md` says what the code does.

use lifetrace_trace::memtrace::{MAX_DEPTH, MAX_DOMAINS, MAX_PACKET, Version};

const DOCUMENT: &str = include_str!("../../../../docs/format-memtrace.md");

#[track_caller]
fn check(sentence: &str) {
    assert!(DOCUMENT.contains(sentence), "not in the document: {sentence}");
}

/// With a space before the last three digits, as the document has numbers.
fn spaced(number: usize) -> String {
    format!("{} {:03}", number / 1000, number % 1000)
}

#[test]
fn the_document_has_the_limits_of_the_code() {
    check(&format!("A packet has at most {} bytes.", spaced(MAX_PACKET)));
    check(&format!("deeper than {} frames", spaced(MAX_DEPTH)));
    check(&format!("a trace of more than {MAX_DOMAINS} domains"));
}

#[test]
fn the_document_has_the_versions_of_the_code() {
    let known: Vec<u16> = (0..=u16::MAX).filter(|n| Version::from_number(*n).is_some()).collect();
    assert_eq!(known, [1, 2, 3]);
    check("reads versions 1, 2 and 3 of the format");
    check(&format!("writes any of them, {} unless told otherwise", Version::default()));
}
