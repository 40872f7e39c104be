//! What keys do, and what the columns mean.

use ratatui::text::{Line, Span};

use super::theme::Theme;

const KEYS: [(&str, &str); 13] = [
    ("↑ ↓ PgUp PgDn Home End, j k", "choose a row"),
    ("Enter, →", "callsites of a process; how the program came to a callsite"),
    ("Tab", "how long a callsite's blocks live, and back"),
    ("Esc, ←", "back"),
    ("m  M", "mark this moment, and see what changed since; forget the mark"),
    ("f, /", "look at some blocks only: size > 1KiB, fn ~ parse (docs/filters.md)"),
    ("l g d a t n", "order: live, growth, since mark, alloc rate, allocated, name"),
    ("space", "the page stays as it is; recording goes on"),
    ("q, Ctrl-C", "end"),
    ("", ""),
    ("LIVE", "bytes that live, with their 95 % interval"),
    ("GROWTH/MIN", "change of these in the last minute; * more than noise of sampling"),
    ("ALLOC/S", "bytes allocated a second in the last minute"),
];

pub fn lines(theme: Theme) -> Vec<Line<'static>> {
    let line = |(keys, what): (&'static str, &'static str)| {
        Line::from(vec![Span::styled(format!("{keys:<29}"), theme.strong()), Span::raw(what)])
    };
    KEYS.into_iter().map(line).collect()
}
