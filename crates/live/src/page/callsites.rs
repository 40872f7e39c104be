//! The callsites of a process.

use lifetrace_human as human;
use lifetrace_report::{shorten_function, shorten_place};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::columns::{Cell, Column, cut, heading, row};
use super::list::{List, window};
use super::theme::Theme;
use crate::model::{self, Model, Order};
use crate::rows::{Amounts, Movement, Row};
use crate::words;

const LIVE: Column = Column::right("LIVE", 17);
const SHARE: Column = Column::right("SHARE", 7);
const GROWTH: Column = Column::right("GROWTH/MIN", 18);
const MARKED: Column = Column::right("SINCE MARK", 18);
const RATE: Column = Column::right("ALLOC/S", 19);
const ALLOCATED: Column = Column::right("ALLOCATED", 17);
const PEAK: Column = Column::right("AT PEAK", 17);

/// From so many columns on there is room for shares, and for what changed since a mark beside growth.
const WIDE: usize = 110;
/// A narrower column has functions alone.
const LEAST_PLACE: usize = 32;
/// From so many columns on there is room for all.
const WIDEST: usize = 150;

pub fn list(model: &Model, amounts: &Amounts, theme: Theme, room: (usize, usize)) -> List {
    let (width, height) = room;
    let columns = columns(width, amounts.total.marked.is_some());
    let rows = model::callsites(model, &amounts.rows);
    let (shown, chosen) = window(model, rows.len(), height);
    let told = chosen.map(|chosen| told(rows[chosen], theme, width)).unwrap_or_default();
    let line = |shown: &&Row| {
        row(&columns, columns.iter().map(|column| cell(column, shown, amounts, theme)).collect())
    };
    let is_order = |title: &str| title == of_order(model.order());
    List {
        heading: heading(&columns, theme.heading(), is_order),
        rows: rows[shown.clone()].iter().map(line).collect(),
        chosen: chosen.map(|chosen| chosen - shown.start),
        told,
    }
}

fn columns(width: usize, has_mark: bool) -> Vec<Column> {
    let marked = has_mark.then_some(MARKED);
    let mut columns: Vec<_> = match width {
        WIDEST.. => {
            [LIVE, SHARE, GROWTH].into_iter().chain(marked).chain([RATE, PEAK, ALLOCATED]).collect()
        }
        WIDE.. => [LIVE, SHARE, GROWTH].into_iter().chain(marked).chain([RATE]).collect(),
        _ if has_mark => vec![LIVE, MARKED],
        _ => vec![LIVE, GROWTH],
    };
    let used = |columns: &[Column]| columns.iter().map(|column| column.width + 1).sum::<usize>();
    const LEAST_NAME: usize = 20;
    if width < WIDE && used(&columns) + RATE.width + 1 + LEAST_NAME <= width {
        columns.push(RATE);
    }
    columns.push(Column::left("CALLSITE", width.saturating_sub(used(&columns))));
    columns
}

fn cell(column: &Column, row: &Row, amounts: &Amounts, theme: Theme) -> Cell {
    let has = &row.has;
    match column.title {
        "LIVE" => Cell::from(words::bytes(&has.live, &amounts.sampling)),
        "SHARE" => human::percent(row.share).into(),
        "GROWTH/MIN" => change(&has.recent, true, theme),
        "SINCE MARK" => has.marked.as_ref().map(|it| change(it, false, theme)).unwrap_or_default(),
        "ALLOC/S" => rate(&has.recent, theme),
        "ALLOCATED" => words::bytes(&has.allocated, &amounts.sampling).into(),
        "AT PEAK" => words::bytes(&has.peak, &amounts.sampling).into(),
        _ if column.width < LEAST_PLACE => {
            shorten_function(&row.name.function, column.width).into()
        }
        _ => {
            let name = &row.name;
            let (function, source) =
                shorten_place(&name.function, &name.brief_source, Some(column.width));
            format!("{function}  {source}").into()
        }
    }
}

fn rate(movement: &Movement, theme: Theme) -> Cell {
    let style = if movement.allocated.samples == 0 { theme.faint() } else { Style::new() };
    Cell::styled(words::rate(movement), style)
}

/// A change, loud if it is more than noise.
pub fn change(movement: &Movement, is_per_minute: bool, theme: Theme) -> Cell {
    let text = match is_per_minute {
        true => words::change_per_minute(movement),
        false => words::change(movement),
    };
    if !movement.is_significant() {
        return Cell::styled(text, theme.faint());
    }
    let style = if movement.change() > 0.0 { theme.more() } else { theme.less() };
    Cell::styled(format!("{text}*"), style)
}

/// The chosen callsite in full.
fn told(row: &Row, theme: Theme, width: usize) -> Line<'static> {
    let name = &row.name;
    let room = width.saturating_sub(2);
    let (function, source) = shorten_place(&name.function, &name.source, Some(room));
    let (function, source) = (cut(&function, room), source);
    Line::from(vec![
        Span::styled(function, theme.strong()),
        Span::styled(format!("  {source}"), theme.faint()),
    ])
}

fn of_order(order: Order) -> &'static str {
    match order {
        Order::Live => "LIVE",
        Order::Growth => "GROWTH/MIN",
        Order::Marked => "SINCE MARK",
        Order::Rate => "ALLOC/S",
        Order::Allocated => "ALLOCATED",
        Order::Name => "CALLSITE",
    }
}
