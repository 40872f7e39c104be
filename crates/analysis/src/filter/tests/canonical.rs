//! Every term in all the ways to write it, and the one in which it is written.

use proptest::prelude::*;

use super::super::{Filter, FramePattern, MAX_TERMS, Preset};
use super::filter;
use super::strategies;

fn check(text: &str, expected: &str) {
    assert_eq!(filter(text).to_string(), expected, "{text}");
    assert_eq!(filter(expected), filter(text), "{text}");
}

#[test]
fn moments() {
    check("allocated at 10s", "allocated at 10s");
    check("allocated before +10s", "allocated before 10s");
    check("allocated before start+10s", "allocated before 10s");
    check("allocated after 0", "allocated after start");
    check("allocated after 1h30min", "allocated after 90min");
    check("allocated after 1.5h", "allocated after 90min");
    check("allocated after 90 M", "allocated after 90min");
    check("allocated after 1d1us", "allocated after 86400000001us");
    check("allocated after end-5min", "allocated after end-5min");
    check("allocated after END-0s", "allocated after end");
    check("allocated before start-1ms", "allocated before start-1ms");
    check("allocated before peak+300s", "allocated before peak+5min");
    check("allocated after 50%", "allocated after 50%");
    check("allocated after 12.50 %", "allocated after 12.5%");
    check("allocated after 0.0001%", "allocated after 0.0001%");
    check("allocated after 100%", "allocated after 100%");
    check("allocated after 2026-01-12", "allocated after 2026-01-12T00:00:00Z");
    check("allocated after 2026-01-12 13:44:03 UTC", "allocated after 2026-01-12T13:44:03Z");
    check("allocated after 2026-01-12T13:44:03.5", "allocated after 2026-01-12T13:44:03.5Z");
}

#[test]
fn events() {
    check("allocated 10s..20s", "allocated 10s..20s");
    check("allocated 10s..", "allocated after 10s");
    check("allocated ..10s", "allocated before 10s");
    check("allocated peak..end", "allocated peak..end");
    check(
        "allocated 2026-01-12T13:44..2026-01-12 13:45",
        "allocated 2026-01-12T13:44:00Z..2026-01-12T13:45:00Z",
    );
    check("freed", "freed");
    check("freed peak", "freed peak");
    check("freed peak..", "freed after peak");
    check("freed end-5s..end", "freed end-5s..end");
    check("freed before 10s", "freed before 10s");
    check("not freed", "not freed");
    check("not not freed", "freed");
    check("not freed before 10s", "not freed before 10s");
    check("promoted", "promoted");
    check("not promoted", "not promoted");
    check("promoted after 50%", "promoted after 50%");
    check("alive at peak", "alive at peak");
    check("alive at end", "alive at end");
    check("alive 10s..20s", "alive 10s..20s");
    check("alive before 10s", "alive before 10s");
}

#[test]
fn sizes_and_lifetimes() {
    check("size>4096", "size>4KiB");
    check("size > 4 KiB", "size>4KiB");
    check("size>=1.5k", "size>=1536B");
    check("size<1MB", "size<1MB");
    check("size<400MB", "size<400MB");
    check("size<64KB", "size<64KB");
    check("size<=1024kb", "size<=1000KiB");
    check("size=100", "size=100B");
    check("size=2T", "size=2TiB");
    check("size!=0", "not size=0B");
    check("not size!=0b", "size=0B");
    check("size=1K..2K", "size=1KiB..2KiB");
    check("size 1K..2K", "size=1KiB..2KiB");
    check("size=1K..", "size>=1KiB");
    check("size ..1K", "size<1KiB");
    check("size=..1K", "size<1KiB");
    check("size<=18446744073709551615", "size<=18446744073709551615B");
    check("lifetime<1ms", "lifetime<1ms");
    check("lifetime >= 0.5 s", "lifetime>=500ms");
    check("lifetime>0", "lifetime>0s");
    check("lifetime=1ms..10ms", "lifetime=1ms..10ms");
    check("lifetime>25%", "lifetime>25%");
    check("lifetime=1s..50%", "lifetime=1s..50%");
    check("lifetime!=1us", "not lifetime=1us");
}

#[test]
fn names() {
    check("fn=main", "fn=main");
    check("fn = main", "fn=main");
    check("fn:hash", "fn:hash");
    check("fn~^caml_|x", "fn~^caml_|x");
    check("fn!=main", "not fn=main");
    check("not fn!:main", "fn:main");
    check("fn=\"operator new(unsigned long)\"", "fn=\"operator new(unsigned long)\"");
    check("fn='operator new'", "fn=\"operator new\"");
    check("fn='say \"hi\"'", "fn=\"say \"\"hi\"\"\"");
    check("fn=\"say \"\"hi\"\"\"", "fn=\"say \"\"hi\"\"\"");
    check("fn=\"'a\"", "fn=\"'a\"");
    check("fn=f'", "fn=f'");
    check("fn=std::map<int,int>::find", "fn=std::map<int,int>::find");
    check("fn=<a::B>::c", "fn=<a::B>::c");
    check("fn=\"a;b\"", "fn=\"a;b\"");
    check("fn=a;b", "fn=\"a;b\"");
    check("fn=\"~Foo\"", "fn=\"~Foo\"");
    check("fn=größe", "fn=größe");
    check("innermost fn:alloc", "innermost fn:alloc");
    check("innermost fn!=alloc", "not innermost fn=alloc");
    check("not innermost module:ssl", "not innermost module:ssl");
    check("module=libc.so.6", "module=libc.so.6");
    check("file=hash.c", "file=hash.c");
    check("file=hash.c:42", "file=hash.c:42");
    check("file:src/hash:042", "file:src/hash:42");
    check("file=\"my file.c\":42", "file=\"my file.c\":42");
    check("file=\"odd:7\"", "file=\"odd:7\"");
    check("file=\"odd:7\":42", "file=\"odd:7\":42");
    check("file~\\.c:42", "file~\\.c:42");
    check("file~\"\\.c$\":42", "file~\"\\.c$\":42");
    check("file=C:\\a.c", "file=C:\\a.c");
    check("file=\":7\"", "file=\":7\"");
}

#[test]
fn threads_sources_and_labels() {
    check("thread=7", "thread=7");
    check("thread=\"7\"", "thread=\"7\"");
    check("thread=worker", "thread=worker");
    check("thread:work", "thread:work");
    check("thread~^w\\d", "thread~^w\\d");
    check("source=minor", "source=minor");
    check("source!=Ruby", "not source=ruby");
    check("source=\"my pool\"", "source=\"my pool\"");
    check("source=\"minor\"", "source=\"minor\"");
    check("source:pool", "source:pool");
    check("label build=release", "label build=release");
    check("label build", "label build");
    check("label build not leaks", "label build not leaks");
    check("label build != 7", "not label build=7");
    check("label \"the build\"~^7$", "label \"the build\"~^7$");
    check("label a.b/c-d_e:x", "label a.b/c-d_e:x");
}

#[test]
fn conjunctions() {
    check("", "");
    check(" \t ", "");
    check("leaks and size>1K", "leaks size>1KiB");
    check("  leaks\n size>1K  ", "leaks size>1KiB");
    check("allocated 1s..2s and temporary", "allocated 1s..2s temporary");
    check("NOT Temporary AND LONG-LIVED", "not temporary long-lived");
    check("size>5 not leaks", "size>5B not leaks");
    check("size>5 m leaks", "size>5MiB leaks");
}

#[test]
fn several_texts_are_one_conjunction() {
    let both = Filter::parse_all(["leaks", "size>1K"]).unwrap();
    assert_eq!(both, filter("leaks size>1K"));
    assert_eq!(both.terms().len(), 2);
    assert!(Filter::parse_all::<&str>([]).unwrap().is_empty());
}

#[test]
fn there_is_a_limit() {
    let terms = |count| "leaks ".repeat(count);
    assert_eq!(filter(&terms(MAX_TERMS)).terms().len(), MAX_TERMS);
    assert!(terms(MAX_TERMS + 1).parse::<Filter>().is_err());
    assert!(Filter::parse_all([terms(MAX_TERMS), "leaks".into()]).is_err());
}

/// As `docs/filters.md` has them.
#[test]
fn presets() {
    let check = |preset: Preset, name: &str, terms: &str| {
        assert_eq!(preset.name(), name);
        assert_eq!(Filter::from(preset), filter(name));
        assert_eq!(filter(terms).terms(), preset.terms());
        assert_eq!(filter(terms).needs(), filter(name).needs());
    };
    check(Preset::Leaks, "leaks", "not freed");
    check(Preset::Temporary, "temporary", "lifetime<10ms");
    check(Preset::LongLived, "long-lived", "lifetime>=25%");
    check(Preset::Churn, "churn", "lifetime<1s");
    check(Preset::Premature, "premature", "promoted lifetime<1s");
    check(Preset::Peak, "peak", "alive at peak");
    check(Preset::Deserialised, "deserialised", "fn=[deserialised]");
    assert_eq!(Preset::ALL.len(), 7);
}

#[test]
fn steps() {
    let check = |text: &str, expected: &str| {
        let pattern = FramePattern::parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(pattern.to_string(), expected, "{text}");
        assert_eq!(FramePattern::parse(expected), Ok(pattern), "{text}");
    };
    check("main", "fn=main");
    check(" operator new(unsigned long) ", "fn=\"operator new(unsigned long)\"");
    check("operator==", "fn=operator==");
    check("file::open", "fn=file::open");
    check("::f", "fn=\"::f\"");
    check("fn", "fn=fn");
    check("file", "fn=file");
    check("fn:std", "fn:std");
    check(":std::", "fn:std::");
    check("~^core::", "fn~^core::");
    check("= main", "fn=main");
    check("\"a b\"", "fn=\"a b\"");
    check("*", "fn=*");
    check("a;b", "fn=\"a;b\"");
    check("file = src/a.c:7", "file=src/a.c:7");
    check("module:libc", "module:libc");
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(filter in strategies::filter()) {
        let text = filter.to_string();
        let read: Filter = text.parse().map_err(|error| TestCaseError::fail(format!("{error}")))?;
        prop_assert_eq!(&read, &filter, "{}", text);
        prop_assert_eq!(read.to_string(), text);
    }

    #[test]
    fn any_text_is_a_filter_or_a_mistake_within_it(text in strategies::scribble()) {
        match text.parse::<Filter>() {
            Ok(filter) => prop_assert_eq!(filter.to_string().parse(), Ok(filter)),
            Err(error) => {
                prop_assert!(error.text.get(error.span.clone()).is_some(), "{:?}", error);
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }

    #[test]
    fn steps_are_read_again(pattern in strategies::pattern()) {
        let text = pattern.to_string();
        prop_assert_eq!(FramePattern::parse(&text), Ok(pattern), "{}", text);
    }
}
