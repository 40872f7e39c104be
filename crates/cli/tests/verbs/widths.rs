//! Pages of any width: no amount is cut, none is made up, and lines keep within their columns.

use std::collections::BTreeSet;

use crate::imports::imported;
use crate::*;

const TRACES: [&str; 8] = [
    "sample-v2.1.lt",
    "json-1e-5-v2.1.lt",
    "managed-v2.1.lt",
    "server-1e-5.ctf",
    "ocamlopt-1e-6-v2.1.lt",
    "native-python.lt",
    "leaking.lt",
    "crowd-v2.1.lt",
];

const WIDTHS: [usize; 6] = [40, 60, 80, 84, 100, 200];

/// What stands after a number.
const UNITS: [&str; 20] = [
    "B", "KiB", "MiB", "GiB", "TiB", "B/h", "KiB/h", "MiB/h", "GiB/h", "B·s", "KiB·s", "MiB·s",
    "GiB·s", "%", "µs", "ms", "s", "million", "billion", "h",
];

/// A page for so many columns, or for a pipe; nothing if the trace does not tell what is asked.
fn page(arguments: &[&str], width: Option<usize>) -> Option<String> {
    let mut command = lifetrace(arguments);
    if let Some(width) = width {
        command.env("COLUMNS", width.to_string());
    }
    let output = command.output().unwrap();
    output.status.success().then(|| text(&output.stdout))
}

/// All amounts of a page, each with its interval and its unit as far as they are there.
fn amounts(page: &str) -> BTreeSet<String> {
    page.lines().flat_map(amounts_of_line).collect()
}

fn amounts_of_line(line: &str) -> Vec<String> {
    let words: Vec<_> = line.split_whitespace().collect();
    let bare = |word: &str| word.trim_end_matches([',', '.', ';', ':', ')']).to_owned();
    let is_number = |word: &str| {
        let digits = bare(word.trim_start_matches(['+', '-', '−', '(']));
        let is_part = |it: char| it.is_ascii_digit() || ",.–".contains(it);
        digits.starts_with(|it: char| it.is_ascii_digit()) && digits.chars().all(is_part)
    };
    let mut found = Vec::new();
    let mut rest = &words[..];
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if !is_number(first) {
            continue;
        }
        let mut amount = vec![bare(first)];
        if let [sign, half, ..] = rest
            && *sign == "±"
            && is_number(half)
        {
            amount.extend(["±".to_owned(), bare(half)]);
            rest = &rest[2..];
        } else if let [range, ..] = rest
            && range.starts_with('(')
            && is_number(range)
        {
            amount.push(bare(range));
            rest = &rest[1..];
        }
        if let [unit, ..] = rest
            && UNITS.contains(&bare(unit).as_str())
        {
            amount.push(bare(unit));
            rest = &rest[1..];
        }
        found.push(amount.join(" "));
    }
    found
}

/// Lines that are longer than the page may be because nothing in them may be broken.
fn is_unbreakable(line: &str) -> bool {
    let words: Vec<_> = line.split_whitespace().collect();
    words.len() == 1 || amounts_of_line(line) == [line.trim()]
}

fn check(arguments: &[&str]) {
    let Some(whole) = page(arguments, None) else { return };
    let known = amounts(&whole);
    assert!(!known.is_empty(), "{arguments:?}");
    // Where most was depends on the columns of the time line.
    let is_of_columns = arguments.contains(&"timeline");
    for width in WIDTHS {
        let page = page(arguments, Some(width)).unwrap();
        for line in page.lines() {
            let is_narrow = line.chars().count() <= width || is_unbreakable(line);
            assert!(is_narrow, "{arguments:?}, {width} columns: {line}");
        }
        let unknown: Vec<_> = amounts(&page).difference(&known).cloned().collect();
        assert!(is_of_columns || unknown.is_empty(), "{arguments:?} {width}: {unknown:?}\n{page}");
    }
}

#[test]
fn amounts_are_read() {
    let line = "a 5.9 ± 0.8 MiB, 1.3 (1.0–1.8) GiB; 50 objects (2 of 3) 0x12ab in 97.5 %.";
    let expected = ["5.9 ± 0.8 MiB", "1.3 1.0–1.8 GiB", "50", "2", "3", "97.5 %"];
    let bare = |amount: &String| amount.replace(['(', ')'], "");
    let found: Vec<_> = amounts_of_line(line).iter().map(bare).collect();
    assert_eq!(found, expected);
}

#[test]
fn every_view_of_every_trace() {
    for trace in TRACES {
        for view in VIEWS {
            check(&[&["report", trace, "--top", "3"], view].concat());
        }
        check(&["info", trace]);
    }
}

#[test]
fn imports() {
    for file in ["heaptrack.sqlite3.zst", "dhat.sqlite3.json.gz", "go.pb.gz"] {
        let trace = imported(&traces().join("../imports").join(file));
        let path = trace.path();
        for view in VIEWS {
            check(&[&["report", argument(&path), "--top", "3"], view].concat());
        }
    }
}

#[test]
fn sums_and_changes() {
    let family = ["report", "forked.lt", "forked.2.lt", "forked.3.lt"];
    for view in ["summary", "hot", "tree", "paths", "functions"] {
        check(&[&family[..], &["--per-process", "--view", view, "--top", "3"]].concat());
    }
    for by in ["callsite", "function", "tree"] {
        check(&["diff", "ocamlopt-1e-6.ctf", "server-1e-5.ctf", "--by", by, "--all"]);
    }
}

#[test]
fn advice() {
    check(&["rate", "--leak", "10MB", "--interval", "512KiB"]);
    check(&["rate", "--leak", "10MB", "--within", "10%", "--block-size", "4KiB"]);
}

/// A pipe has no end of lines: whole names, whole tables.
#[test]
fn nothing_is_shortened_in_a_pipe() {
    for trace in TRACES {
        for view in VIEWS {
            let page = page(&[&["report", trace], view].concat(), None);
            let page =
                page.into_iter().flat_map(|it| it.lines().map(str::to_owned).collect::<Vec<_>>());
            for line in page.filter(|line| !line.contains("frames left out")) {
                assert!(
                    !line.contains('…') && !line.contains("Left out:"),
                    "{view:?} {trace}: {line}"
                );
            }
        }
    }
}

/// What is left out is told, and there where there is room.
#[test]
fn columns_that_are_left_out_are_named() {
    let threads =
        |width| page(&["report", "native-python.lt", "--view", "threads"], Some(width)).unwrap();
    assert!(!threads(120).contains("Left out"), "{}", threads(120));
    for (width, names) in [
        (80, "Left out: the kernel's numbers, shares, freed for others."),
        (60, "Left out: the kernel's numbers, shares, freed by others,"),
    ] {
        assert!(threads(width).contains(names), "{}", threads(width));
    }
}

/// The chart is as wide as the page.
#[test]
fn time_lines_are_as_wide_as_the_page() {
    for width in [40, 60, 80, 120, 200] {
        let page = page(&["report", "server-1e-5.ctf", "--view", "timeline"], Some(width)).unwrap();
        let widest = page.lines().map(|line| line.trim_end().chars().count()).max().unwrap();
        assert!(widest <= width && widest > width - 8, "{width}: {page}");
    }
}
