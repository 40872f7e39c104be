//! A callsite: how the program came to it, and how long its blocks live.

use lifetrace_analysis::lifetimes::Lifetime;
use lifetrace_analysis::statistics::{Histogram, Unit};
use lifetrace_human as human;
use lifetrace_report::shorten_place;
use ratatui::text::{Line, Span};

use super::columns::{Cell, Column, heading, row};
use super::list::{List, window};
use super::theme::Theme;
use crate::branches::Branch;
use crate::model::Model;

const LIVE: Column = Column::right("LIVE", 17);
const SHARE: Column = Column::right("SHARE", 7);

/// Deeper forks are not set in any further.
const DEEPEST: usize = 12;

pub fn tree(model: &Model, branches: &[Branch], theme: Theme, room: (usize, usize)) -> List {
    let (width, height) = room;
    let room = width.saturating_sub(LIVE.width + SHARE.width + 2);
    let columns = [LIVE, SHARE, Column::left("CALLED", room)];
    let (shown, chosen) = window(model, branches.len(), height);
    let told = chosen.map(|chosen| {
        let branch = &branches[chosen];
        let (function, source) = shorten_place(&branch.function, &branch.source, Some(width));
        let left_out = match branch.left_out {
            0 => String::new(),
            count => format!("  ({count} smaller branches are left out)"),
        };
        Line::styled(format!("{function}  {source}{left_out}"), theme.faint())
    });
    let line = |branch: &Branch| {
        let indent = " ".repeat(2 * branch.level.min(DEEPEST));
        let room = room.saturating_sub(indent.len());
        let (function, source) = shorten_place(&branch.function, &branch.source, Some(room));
        let name = format!("{indent}{function}  {source}");
        row(
            &columns,
            vec![
                human::estimate(&branch.live).into(),
                human::percent(branch.share).into(),
                Cell::from(name),
            ],
        )
    };
    List {
        heading: heading(&columns, theme.heading(), |_| false),
        rows: match branches {
            [] => vec![Line::styled("nothing that was sampled here lives now", theme.faint())],
            _ => branches[shown.clone()].iter().map(line).collect(),
        },
        chosen: chosen.map(|chosen| chosen - shown.start),
        told: told.unwrap_or_default(),
    }
}

pub fn lifetimes(lifetime: &Lifetime, read: f64, theme: Theme, width: usize) -> List {
    let mut rows = quantiles(lifetime);
    rows.push(Line::default());
    rows.extend(classes(lifetime, theme, width));
    let told = match read < 1.0 {
        true => format!("the trace is read again for this: {}", human::percent(read)),
        false => "ages at which blocks were freed; of those that live, how old they are".to_owned(),
    };
    let title = format!("{:width$}", "LIFETIMES");
    List {
        heading: Line::styled(title, theme.heading()),
        rows,
        chosen: None,
        told: Line::styled(told, theme.faint()),
    }
}

fn quantiles(lifetime: &Lifetime) -> Vec<Line<'static>> {
    let unit = lifetime.unit();
    let curve = lifetime.time.curve(unit);
    let known = [(0.1, "10 % of"), (0.5, "half of"), (0.9, "90 % of"), (0.99, "99 % of")];
    let what = noun(unit);
    let mut lines: Vec<_> = known
        .into_iter()
        .map(|(share, name)| match curve.quantile(share) {
            Some(quantile) => {
                format!("{name} {what} live no longer than {}", human::quantile(&quantile))
            }
            None => format!("{name} {what}: longer than anybody has watched them"),
        })
        .collect();
    match lifetime.time.surviving(unit) {
        Some(share) => lines.push(format!("{} live now", human::proportion(&share))),
        None => lines = vec!["nothing was sampled here".to_owned()],
    }
    lines.into_iter().map(Line::from).collect()
}

fn noun(unit: Unit) -> &'static str {
    match unit {
        Unit::Objects => "its objects",
        Unit::Bytes => "its bytes",
    }
}

/// Lifetimes by powers of ten: what died at such an age, and what lives and is so old.
fn classes(lifetime: &Lifetime, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let unit = lifetime.unit();
    let [died, living] = [lifetime.time.deaths(), lifetime.time.survivors()];
    let [died, living] = [died, living].map(|part| by_decade(part, unit));
    let all: f64 = died.iter().chain(&living).sum();
    if all <= 0.0 {
        return Vec::new();
    }
    let last = (0..DECADES).rev().find(|&at| died[at] + living[at] > 0.0).unwrap_or(0);
    let first = (0..DECADES).find(|&at| died[at] + living[at] > 0.0).unwrap_or(0);
    let room = width.saturating_sub(48).min(60);
    let line = |at: usize| {
        let [freed, lives] = [died[at] / all, living[at] / all];
        let bar = "█".repeat((freed * room as f64).round() as usize);
        let rest = "░".repeat((lives * room as f64).round() as usize);
        Line::from(vec![
            Span::raw(format!("{:>18}", label(at))),
            Span::raw(format!("{:>9} freed", human::percent(freed))),
            Span::styled(format!("{:>9} live ", human::percent(lives)), theme.faint()),
            Span::raw(bar),
            Span::styled(rest, theme.faint()),
        ])
    };
    (first..=last).map(line).collect()
}

/// From microseconds to years.
const DECADES: usize = 16;

fn by_decade(part: &Histogram, unit: Unit) -> [f64; DECADES] {
    let mut sums = [0.0; DECADES];
    for content in part.contents() {
        let decade = content.least.checked_ilog10().map_or(0, |decade| decade as usize);
        sums[decade.min(DECADES - 1)] += content.mass.sums(unit).weight();
    }
    sums
}

fn label(decade: usize) -> String {
    let from = 10f64.powi(decade as i32 - 6);
    match decade {
        0 => format!("up to {}", human::about(10.0 * from)),
        _ => format!("{} – {}", human::about(from), human::about(10.0 * from)),
    }
}
