//! What is looked at, and how it is.

use lifetrace_human as human;
use lifetrace_trace::fact::Exit;
use ratatui::text::{Line, Span};

use super::columns::cut;
use super::theme::Theme;
use crate::board::{Shown, View};
use crate::model::Model;
use crate::process::{Aspect, ProcessKey, Screen, Stage};
use crate::words;

/// Rows.
pub const HEIGHT: usize = 4;

/// The row that has a note, if there is one.
pub const NOTE: usize = 3;

pub fn lines(model: &Model, view: &View, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let shown = shown(model, view);
    let title = cut(&title(model, shown), width);
    let state = shown.map_or_else(|| of_all(view), state);
    let method = method(view, shown);
    let note = shown.and_then(|shown| shown.notes.first());
    let note = note.map(|note| format!("NOTE: {note}")).unwrap_or_default();
    let is_bad = shown.is_some_and(|shown| shown.lost > 0);
    let state_style = if is_bad { theme.bad() } else { theme.strong() };
    vec![
        Line::from(vec![
            Span::styled(title, theme.strong()),
            Span::styled(if model.is_paused() { "  [page paused]" } else { "" }, theme.bad()),
        ]),
        Line::styled(cut(&state, width), state_style),
        Line::styled(cut(&method, width), theme.faint()),
        Line::styled(cut(&note, width), theme.bad()),
    ]
}

/// The process that is looked at.
pub fn shown<'v>(model: &Model, view: &'v View) -> Option<&'v Shown> {
    let key: ProcessKey = match model.screen() {
        Screen::Processes => return None,
        Screen::Callsites(key) | Screen::Callsite(key, ..) => *key,
    };
    view.processes.iter().find(|shown| shown.key == key)
}

/// Why nothing is known of a process.
pub fn why_nothing(model: &Model, view: &View) -> String {
    match shown(model, view).map(|shown| &shown.stage) {
        Some(Stage::Failed(why)) => human::printable(why).into_owned(),
        Some(Stage::Waiting) => "its trace has no beginning yet".to_owned(),
        Some(_) => "the trace is being read".to_owned(),
        None => "this process is not known any more; Esc leads back".to_owned(),
    }
}

fn title(model: &Model, shown: Option<&Shown>) -> String {
    let what = match (model.screen(), shown) {
        (Screen::Processes, _) | (_, None) => "processes".to_owned(),
        (Screen::Callsites(_), Some(shown)) => program(shown),
        (Screen::Callsite(_, site, aspect), Some(shown)) => {
            let aspect = match aspect {
                Aspect::Tree => "calls that lead to",
                Aspect::Lifetimes => "lifetimes of",
            };
            format!("{}  {aspect} {}", program(shown), site.function)
        }
    };
    format!("lifetrace live  {what}")
}

fn program(shown: &Shown) -> String {
    format!("{} {}", shown.session.pid, human::printable(&shown.session.program))
}

fn of_all(view: &View) -> String {
    let running = view.processes.iter().filter(|it| !matches!(it.stage, Stage::Ended(_))).count();
    let ended = view.processes.len() - running;
    let unseen = match view.unseen {
        0 => String::new(),
        unseen => format!(", {unseen} more came and went, or had nothing sampled"),
    };
    format!("{running} recorded now, {ended} ended{unseen}")
}

fn state(shown: &Shown) -> String {
    let mut parts = vec![stage(shown)];
    if let (Some(has), Some(sampling)) = (&shown.has, &shown.sampling) {
        parts.push(format!("live {}", human::amount(&has.live, sampling)));
        parts.push(format!("{}/min", words::change_per_minute(&has.recent)));
    }
    parts.extend(shown.resident.map(|bytes| format!("RSS {}", human::bytes(bytes as f64))));
    parts.push(format!("{} lost", human::count(shown.lost as f64)));
    parts.extend(shown.has.as_ref().map(|has| format!("alloc {}", words::rate(&has.recent))));
    parts.extend(shown.faults.map(|faults| format!("{} faults/s", human::count(faults.round()))));
    parts.join("  ")
}

/// How far one is with a process, and whether it lives.
pub fn stage(shown: &Shown) -> String {
    let age = words::span(shown.age);
    match &shown.stage {
        Stage::Waiting => "begins".to_owned(),
        Stage::Reading(part) => format!("reading, {}", human::percent(*part)),
        Stage::Running => format!("running, {age}"),
        Stage::Ended(Some(Exit::Status(code))) => format!("ENDED with {code} after {age}"),
        Stage::Ended(Some(Exit::Signal(signal))) => format!("KILLED by {signal} after {age}"),
        Stage::Ended(Some(Exit::Exec)) => format!("became another program after {age}"),
        Stage::Ended(Some(Exit::Unknown) | None) => format!("ENDED after {age}"),
        Stage::Failed(why) => human::printable(why).into_owned(),
    }
}

/// What numbers rest on.
fn method(view: &View, shown: Option<&Shown>) -> String {
    let mut parts = Vec::new();
    parts.extend(view.filter.as_ref().map(|filter| format!("filter: {filter}")));
    if let Some(shown) = shown
        && let (Some(has), Some(sampling)) = (&shown.has, &shown.sampling)
    {
        parts.extend(shown.mark_age.map(|age| format!("mark {} ago", words::span(age))));
        parts.push(format!("growth and rates of the last {}", words::span(has.recent.span)));
        parts.push(format!("{} live samples", human::count(has.live.samples as f64)));
        parts.push(match (sampling.is_exact(), sampling.interval_bytes()) {
            (true, _) => "every allocation".to_owned(),
            (_, 0.0) => format!("1 of {} objects", human::count(sampling.interval_objects())),
            (_, bytes) => format!("a sample every {}", human::bytes(bytes)),
        });
    }
    parts.join(", ")
}
