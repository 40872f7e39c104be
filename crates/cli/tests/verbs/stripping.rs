//! `strip`.

use std::fs;

use crate::conversion::Folder;
use crate::*;

fn dump(trace: &str) -> String {
    stdout(&["dump", trace, "--no-backtraces"])
}

#[test]
fn names_go_and_shapes_stay() {
    let place = Folder::new();
    for trace in [SMALL, "server-1e-5.ctf"] {
        let stripped = place.path("stripped.ctf");
        stdout(&["strip", "-f", trace, "-o", &stripped]);
        assert!(dump(trace) == dump(&stripped), "{trace}");
        let info = stdout(&["info", &stripped]);
        assert!(info.contains("m1.exe") || info.contains("executable  m1\n"), "{info}");
        let all = stdout(&["dump", &stripped]);
        let named = stdout(&["dump", trace]);
        assert_eq!(all.lines().count(), named.lines().count());
        for name in ["caml", "Stdlib", "list.ml", "/home/"] {
            assert!(!all.contains(name) && !info.contains(name), "{name} is told");
        }
        assert!(named.contains("Stdlib") && all.contains(".ml:"), "{trace}");
        let report = |trace: &str| json(&["report", trace, "--json"])["totals"].clone();
        assert_eq!(report(trace), report(&stripped));
    }
}

#[test]
fn lines_go_when_asked() {
    let place = Folder::new();
    let (with, without) = (place.path("with.ctf"), place.path("without.ctf"));
    stdout(&["strip", SMALL, "-o", &with]);
    stdout(&["strip", SMALL, "-o", &without, "--lines"]);
    let has_line = |trace: &str| {
        let lines = stdout(&["dump", trace]);
        lines.split([' ', ';']).any(|word| {
            let line = word.split_once(".ml:").map(|(_, rest)| rest.split(':').next().unwrap());
            line.is_some_and(|line| line.trim_matches(|it: char| !it.is_ascii_digit()) > "0")
        })
    };
    assert!(has_line(&with) && !has_line(&without));
}

#[test]
fn the_input_decides_the_format_where_nobody_else_does() {
    let place = Folder::new();
    let (lt, stripped) = (place.path("t.lt"), place.path("stripped"));
    stdout(&["convert", SMALL, &lt]);
    stdout(&["strip", &lt, "-o", &stripped]);
    assert!(fs::read(&stripped).unwrap().starts_with(b"\xf5LT\x1a"));
    stdout(&["strip", SMALL, "-f", "-o", &stripped]);
    assert!(!fs::read(&stripped).unwrap().starts_with(b"\xf5LT\x1a"));
}
