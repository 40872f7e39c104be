//! All processes.

use lifetrace_human as human;
use ratatui::text::Line;

use super::callsites::change;
use super::columns::{Cell, Column, cut, heading, row};
use super::head;
use super::list::{List, window};
use super::theme::Theme;
use crate::board::{Shown, View};
use crate::model::{self, Model, Order};
use crate::process::Stage;
use crate::words;

const LIVE: Column = Column::right("LIVE", 17);
const GROWTH: Column = Column::right("GROWTH/MIN", 18);
const RATE: Column = Column::right("ALLOC/S", 19);
const RESIDENT: Column = Column::right("RSS", 9);
const LOST: Column = Column::right("LOST", 6);
const PID: Column = Column::right("PID", 8);

/// With fewer columns only the most important ones are shown.
const WIDE: usize = 120;

pub fn list(model: &Model, view: &View, theme: Theme, room: (usize, usize)) -> List {
    let (width, height) = room;
    let columns = columns(width);
    let processes = model::processes(model, view);
    let (window, chosen) = window(model, processes.len(), height);
    let told = chosen.map(|chosen| told(processes[chosen], width)).unwrap_or_default();
    let rows = processes[window.clone()].iter().map(|shown| {
        row(&columns, columns.iter().map(|column| cell(column, shown, theme)).collect())
    });
    let is_order = |title: &str| title == of_order(model.order());
    List {
        heading: heading(&columns, theme.heading(), is_order),
        rows: rows.collect(),
        chosen: chosen.map(|chosen| chosen - window.start),
        told: Line::styled(told, theme.faint()),
    }
}

fn columns(width: usize) -> Vec<Column> {
    let mut columns = match width >= WIDE {
        true => vec![PID, LIVE, GROWTH, RATE, RESIDENT, LOST],
        false => vec![PID, LIVE, GROWTH, RESIDENT],
    };
    let used: usize = columns.iter().map(|column| column.width + 1).sum();
    columns.push(Column::left("PROGRAM", width.saturating_sub(used)));
    columns
}

fn cell(column: &Column, shown: &Shown, theme: Theme) -> Cell {
    let has = shown.has.as_ref().zip(shown.sampling.as_ref());
    match column.title {
        "PID" => shown.session.pid.to_string().into(),
        "LIVE" => {
            has.map(|(has, sampling)| words::bytes(&has.live, sampling)).unwrap_or_default().into()
        }
        "GROWTH/MIN" => has.map(|(has, _)| change(&has.recent, true, theme)).unwrap_or_default(),
        "ALLOC/S" => has.map(|(has, _)| words::rate(&has.recent)).unwrap_or_default().into(),
        "RSS" => shown.resident.map(|bytes| human::bytes(bytes as f64)).unwrap_or_default().into(),
        "LOST" => {
            let style = if shown.lost > 0 { theme.bad() } else { theme.faint() };
            Cell::styled(human::count(shown.lost as f64), style)
        }
        _ => match &shown.stage {
            Stage::Running => shown.session.program.clone().into(),
            _ => format!("{} ({})", shown.session.program, head::stage(shown)).into(),
        },
    }
}

fn told(shown: &Shown, width: usize) -> String {
    let trace = shown.session.trace.as_ref().map(|path| path.display().to_string());
    let trace = trace.map(|path| format!(", {path}")).unwrap_or_default();
    let lost = human::count(shown.lost as f64);
    cut(
        &format!("{}, {lost} lost, child of {}{trace}", head::stage(shown), shown.session.parent),
        width,
    )
}

fn of_order(order: Order) -> &'static str {
    match order {
        Order::Live => "LIVE",
        Order::Growth => "GROWTH/MIN",
        Order::Rate => "ALLOC/S",
        Order::Name => "PROGRAM",
        Order::Marked | Order::Allocated => "",
    }
}
