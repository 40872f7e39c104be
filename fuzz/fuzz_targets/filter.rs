//! Any text: it is a filter, a frame or a path, and is written as what is read as the same; or what is
//! wrong with it is shown within it.
//!
//! The first byte says which of the three.

#![no_main]

use std::fmt::Display;

use libfuzzer_sys::fuzz_target;
use lifetrace_analysis::filter::{Bounds, Filter, Focus, FramePattern, Life, ParseError};
use lifetrace_trace::event::Source;
use lifetrace_trace::ids::{Bytes, ThreadId, Timestamp};

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    match kind % 3 {
        0 => {
            if let Some(filter) = read(&text, |text| text.parse::<Filter>()) {
                judge(&filter);
            }
        }
        1 => drop(read(&text, FramePattern::parse)),
        _ => drop(read(&text, Focus::parse)),
    }
});

fn read<T: PartialEq + std::fmt::Debug + Display>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, ParseError>,
) -> Option<T> {
    match parse(text) {
        Ok(meant) => {
            let written = meant.to_string();
            assert_eq!(parse(&written).as_ref(), Ok(&meant), "{written}");
            Some(meant)
        }
        Err(error) => {
            assert!(text.get(error.span.clone()).is_some(), "{error:?}");
            let shown = error.to_string();
            assert!(shown.lines().nth(2).is_some_and(|line| line.contains('^')), "{shown}");
            None
        }
    }
}

/// What is resolved knows what it needs.
fn judge(filter: &Filter) {
    let needs = filter.needs();
    let bounds = Bounds {
        start: Timestamp(1_000_000),
        end: needs.end.then_some(Timestamp(9_000_000)),
        peak: needs.peak.then_some(Timestamp(5_000_000)),
        clock: &[],
    };
    let life = Life {
        born: Timestamp(2_000_000),
        died: Some(Timestamp(u64::MAX)),
        promoted: None,
        bytes: Bytes(100),
        source: Source::Minor,
        sampler: Some("malloc"),
        thread: Some(ThreadId(1)),
        thread_name: Some("main"),
    };
    let lives = filter.resolve(&bounds).expect("it needs no more than it says");
    lives.matches(&life);
    lives.matches(&Life { died: None, ..life });
    filter.frames().matches([]);
    filter.matches_labels([("a", "b")]);
}
