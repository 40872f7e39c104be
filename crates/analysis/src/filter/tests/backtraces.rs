//! What terms about frames mean.

use std::sync::Arc;

use lifetrace_trace::event::Location;
use lifetrace_trace::frame::FrameKind;
use lifetrace_trace::ids::LocationCode;
use proptest::prelude::*;

use super::super::*;
use super::{filter, strategies};
use crate::machinery::Machinery;
use crate::names::{NamedFrame, Place};

pub(super) fn location(function: &str, file: &str, line: u32) -> Location {
    Location {
        filename: Arc::from(file),
        line,
        start_char: 0,
        end_char: 0,
        defname: Arc::from(function),
    }
}

pub(super) fn line(location: &Location) -> Line<'_> {
    let place = Place::Known(location);
    let is_machinery = Machinery::default().has(&place, FrameKind::Unknown, None);
    Line { frame: NamedFrame { place, inlined: false, is_machinery }, module: None }
}

fn unknown(code: u64) -> Line<'static> {
    let place = Place::Unknown(LocationCode(code));
    Line { frame: NamedFrame { place, inlined: false, is_machinery: false }, module: None }
}

/// main calls parse, which calls grow, which allocates.
fn backtrace() -> Vec<Location> {
    vec![
        location("main", "/src/app/main.c", 7),
        location("void json::parse<int>(char const*)", "/src/app/json.cpp", 42),
        location("std::vector<int>::grow(unsigned long)", "/usr/include/vector.h", 9),
        location("operator new(unsigned long)", "libstdc++.so.6", 0),
    ]
}

fn chosen(text: &str, locations: &[Location]) -> bool {
    filter(text).frames().matches(locations.iter().map(line))
}

#[test]
fn functions() {
    let check = |text: &str, expected: bool| {
        assert_eq!(chosen(text, &backtrace()), expected, "{text}");
        assert_eq!(chosen(&format!("not {text}"), &backtrace()), !expected, "not {text}");
    };
    check("fn=main", true);
    check("fn=mai", false);
    check("fn:mai", true);
    check("fn~^mai", true);
    check("fn~^ain", false);
    check("fn=\"operator new(unsigned long)\"", true);
    check("fn=\"void json::parse<int>(char const*)\"", true);
    check("fn=json::parse", true);
    check("fn~^json::parse$", true);
    check("fn=parse", false);
    check("fn:char", true);
    check("fn:Main", false);
    check("fn~(?i)MAIN", true);
}

#[test]
fn files() {
    let check = |text: &str, expected: bool| {
        assert_eq!(chosen(text, &backtrace()), expected, "{text}");
    };
    check("file=json.cpp", true);
    check("file=app/json.cpp", true);
    check("file=/src/app/json.cpp", true);
    check("file=son.cpp", false);
    check("file=/json.cpp", false);
    check("file=json.cpp:42", true);
    check("file=json.cpp:43", false);
    // One frame has the file, another the line.
    check("file=json.cpp:7", false);
    check("file:/usr/include", true);
    check("file:app:7", true);
    check("file~\\.cpp$", true);
    check("file~\"\\.cpp$\":42", true);
    check("file~\"\\.cpp$\":41", false);
    check("not file=json.cpp", false);
}

#[test]
fn modules() {
    let location = location("f", "libssl.so.3", 0);
    let bare = line(&location);
    let told = Line { module: Some("/usr/lib/libcrypto.so.3"), ..bare };
    let check = |line: Line<'_>, text: &str, expected: bool| {
        assert_eq!(filter(text).frames().matches([line]), expected, "{text}");
    };
    check(told, "module=libcrypto.so.3", true);
    check(told, "module:libcrypto", true);
    check(told, "module~crypto\\.so", true);
    check(told, "module=libssl.so.3", false);
    check(bare, "module=libssl.so.3", true);
    check(line(&backtrace()[1]), "module:json", false);
    check(unknown(1), "module:x", false);
    check(Line { module: Some("/a/x.so"), ..unknown(1) }, "module=x.so", true);
}

#[test]
fn the_innermost_frame_is_the_callsite() {
    let locations = backtrace();
    let check = |locations: &[Location], text: &str, expected: bool| {
        assert_eq!(chosen(text, locations), expected, "{text}");
        assert_eq!(chosen(&format!("not {text}"), locations), !expected, "not {text}");
    };
    check(&locations, "innermost fn=json::parse", true);
    check(&locations, "innermost fn=std::vector::grow", false);
    check(&locations, "innermost fn=main", false);
    check(&locations[..1], "innermost fn=main", true);
    // All is machinery: then it is the innermost one.
    check(&locations[2..], "innermost fn=std::vector::grow", false);
    check(&locations[2..], "innermost fn:operator", true);
    check(&[], "innermost fn:f", false);
}

#[test]
fn frames_of_which_nothing_is_known() {
    let check = |text: &str, expected: bool| {
        assert_eq!(filter(text).frames().matches([unknown(1)]), expected, "{text}");
    };
    check("fn~.", false);
    check("not fn~.", true);
    check("file~.", false);
    check("innermost fn~.", false);
    check("", true);
    check("size>1", true);
}

#[test]
fn what_was_deserialised_says_so_and_is_its_readers() {
    let mut locations = backtrace();
    assert!(!chosen("deserialised", &locations) && chosen("not deserialised", &locations));
    locations.push(location("[deserialised]", "", 0));
    assert!(chosen("deserialised", &locations) && !chosen("not deserialised", &locations));
    assert!(chosen("deserialised innermost fn=json::parse", &locations));
}

#[test]
fn a_class_is_no_callsite_and_no_function_of_that_name() {
    let mut locations = backtrace();
    locations.push(location("[class JSON::Foo]", "", 0));
    assert!(chosen("class=JSON::Foo innermost fn=json::parse", &locations));
    assert!(chosen("class~^JSON:: not class=Foo", &locations));
    assert!(!chosen("class:main", &locations) && !chosen("class=JSON::Foo", &backtrace()));
    assert!(chosen("fn:JSON::Foo", &locations));
}

#[test]
fn where_all_is_machinery_the_innermost_place_is_the_callsite() {
    let mut locations = vec![location("malloc", "", 0), location("calloc", "", 0)];
    locations.push(location("[class String]", "", 0));
    assert!(chosen("innermost fn=calloc", &locations));
}

#[test]
fn each_term_may_be_about_another_frame() {
    assert!(chosen("fn=main file=json.cpp not fn:zlib", &backtrace()));
    assert!(!chosen("fn=main fn:zlib", &backtrace()));
}

#[test]
fn as_many_terms_as_there_may_be() {
    let all = "fn=main ".repeat(MAX_TERMS);
    assert!(chosen(&all, &backtrace()));
    let all_but_one = format!("{}fn=x", "fn=main ".repeat(MAX_TERMS - 1));
    assert!(!chosen(&all_but_one, &backtrace()));
    let negated = format!("{}not innermost fn=x", "fn=main ".repeat(MAX_TERMS - 1));
    assert!(chosen(&negated, &backtrace()));
}

/// By looking at all frames for each term.
fn naively(filter: &Filter, lines: &[Line<'_>]) -> bool {
    let is_named = |line: &Line<'_>| {
        let name = line.frame.place.function();
        !line.frame.is_machinery && name.is_some_and(|name| name != "start_thread")
    };
    let is_one = |at: &usize| {
        let is_nameless = matches!(lines[*at].frame.place, Place::Unknown(_));
        let is_passed_on = is_nameless && lines[..*at].iter().any(is_named);
        !lines[*at].frame.is_machinery && !is_passed_on
    };
    let says_what_it_is = |at: usize| matches!(lines[at].frame.place, Place::Known(it) if it.filename.is_empty() && it.defname.starts_with('['));
    // Where nothing gives a reason: the innermost place, or the one remark that there is.
    let best = |at: &usize| *at == 0 || !says_what_it_is(*at);
    let all = || (0..lines.len()).rev();
    let callsite = all().find(is_one).or_else(|| all().find(best)).map(|at| &lines[at]);
    filter.terms().iter().all(|term| {
        let claim = match &term.claim {
            Claim::Preset(Preset::Deserialised) => &Preset::Deserialised.terms()[0].claim,
            claim => claim,
        };
        let Claim::Frame(FrameClaim { innermost, pattern }) = claim else { return true };
        let holds = match innermost {
            true => callsite.is_some_and(|line| pattern.matches(line)),
            false => lines.iter().any(|line| pattern.matches(line)),
        };
        holds != term.negated
    })
}

proptest! {
    #[test]
    fn frame_by_frame_is_as_all_at_once(
        filter in strategies::filter(),
        names in proptest::collection::vec(
            proptest::sample::select(
                &["main", "malloc", "a;b", "7", "x", "operator new", "[deserialised]", "[class x]", "", "start_thread"][..],
            ),
            0..8,
        ),
    ) {
        let at = |name: &&str| {
            if name.starts_with('[') { location(name, "", 0) } else { location(name, name, 12) }
        };
        let locations: Vec<_> = names.iter().map(at).collect();
        let lines: Vec<_> = locations
            .iter()
            .map(|it| if it.defname.is_empty() { unknown(1) } else { line(it) })
            .collect();
        let expected = naively(&filter, &lines);
        prop_assert_eq!(filter.frames().matches(lines), expected, "{}", filter);
    }
}
