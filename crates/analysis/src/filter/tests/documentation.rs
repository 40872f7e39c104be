//! `docs/filters.md` tells the truth.

use super::super::{Filter, Focus, FramePattern, Preset};
use super::filter;

const PAGE: &str = include_str!("../../../../../docs/filters.md");

/// The texts in the first columns of tables.
fn examples() -> impl Iterator<Item = String> {
    let cells = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    // A bar in a table's cell has a backslash before it.
    cells.map(|cell| cell.split('`').next().unwrap_or_default().replace("\\|", "|"))
}

#[test]
fn every_example_is_a_filter() {
    let count = examples().map(|text| assert!(!filter(&text).is_empty(), "{text}")).count();
    assert!(count > 60, "{count}");
}

#[test]
fn what_is_said_to_be_the_same_is() {
    for (one, other) in [
        ("allocated 10s..", "allocated after 10s"),
        ("allocated ..10s", "allocated before 10s"),
        ("allocated before 1h30min", "allocated before 90min"),
        ("allocated before +10s", "allocated before 10s"),
        ("size 1KiB..4KiB", "size=1KiB..4KiB"),
        ("fn!=main", "not fn=main"),
    ] {
        assert!(PAGE.contains(one), "{one}");
        assert_eq!(filter(one), filter(other), "{one}");
    }
}

#[test]
fn presets_are_spelled_out() {
    for preset in Preset::ALL {
        let terms: Vec<_> = preset.terms().iter().map(ToString::to_string).collect();
        let row = format!("| `{}` | `{}` |", preset.name(), terms.join(" "));
        assert!(PAGE.contains(&row), "{row}");
    }
}

#[test]
fn frames_are_frames() {
    for text in PAGE.lines().filter_map(|line| line.strip_prefix("--hide ")) {
        FramePattern::parse(text.trim_matches('\'')).unwrap_or_else(|error| panic!("{error}"));
    }
    let path = PAGE.lines().find_map(|line| line.strip_prefix("--focus ")).unwrap();
    assert_eq!(Focus::parse(path.trim_matches('\'')).unwrap().stretches().len(), 2);
}

#[test]
fn mistakes_look_as_they_are_shown() {
    let error = "leaks siez>1KiB".parse::<Filter>().unwrap_err();
    assert!(PAGE.contains(&error.to_string()), "{error}");
}
