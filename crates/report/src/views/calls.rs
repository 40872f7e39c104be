//! Where a function is called, and where in it calls are made: by line and columns.

use anyhow::Context;
use lifetrace_analysis::calls::{self, Call};
use lifetrace_analysis::filter::{Focus, View};
use lifetrace_analysis::{Estimate, Metric, Place};
use lifetrace_human as human;
use lifetrace_study::accounts::Accounts;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{fields, measure};
use crate::Options;
use crate::amounts::{Number, measured};
use crate::json::PlaceFields;
use crate::page::Page;
use crate::place::{exact_source, function};
use crate::style::STRONG;
use crate::table::{Cell, Column, Table, Tail};

/// The calls of a function, and those in it.
pub struct Calls<'a> {
    path: Focus,
    found: calls::Calls<'a>,
    metric: Metric,
    top: usize,
}

impl<'a> Calls<'a> {
    /// # Errors
    /// If no function is named.
    pub fn new(of: &'a impl Accounts, options: &Options) -> anyhow::Result<Self> {
        let path = of.view().focus.clone();
        let path =
            path.context("the view 'calls' is about a function: --focus FUNCTION says which")?;
        let view = View { focus: None, by_column: true, ..of.view().clone() };
        let (sites, values) = of.sites_as(&view, options.metric);
        let found = calls::Calls::new(&sites, values, &path);
        Ok(Self { path, found, metric: options.metric, top: options.top })
    }

    fn share(&self, part: Estimate) -> f64 {
        if self.found.total.value > 0.0 { part.value / self.found.total.value } else { 0.0 }
    }

    fn shown<'c>(&self, calls: &'c [Call<'a>]) -> &'c [Call<'a>] {
        &calls[..self.top.min(calls.len())]
    }

    fn table(&self, page: &mut Page, what: &str, calls: &[Call<'a>]) {
        let shown = self.shown(calls);
        page.line("");
        page.prose("", STRONG, &format!("{} of {} places {what}", shown.len(), calls.len()));
        page.line("");
        let mut table = Table::new([
            Column::share("came through"),
            Column::left("came through").continues(),
            Column::share("allocated there"),
        ]);
        table = table.with_tails("in");
        for call in shown {
            let name = match call.place {
                Place::NoBacktrace => "(the outermost function)".to_owned(),
                place => function(&place),
            };
            let source = exact_source(&call.place).unwrap_or_default();
            table.row(self.row(call), Tail::Place { name, source });
        }
        page.table(&table);
    }

    fn row(&self, call: &Call<'_>) -> [Cell; 3] {
        let own = match call.own.value {
            0.0 => String::new(),
            _ => human::percent(self.share(call.own)),
        };
        let share = human::percent(self.share(call.total));
        [share, measured(self.metric, &call.total), own].map(Cell::from)
    }
}

impl<'a> super::View for Calls<'a> {
    fn text(&self, page: &mut Page) {
        let calls::Calls { total, of, inside } = &self.found;
        let what = measure(self.metric);
        if of.is_empty() {
            return page.prose("", STRONG, &format!("No {what} came through {}", self.path));
        }
        let total = measured(self.metric, total);
        page.prose("", STRONG, &format!("{total} came through {}, by {what}", self.path));
        self.table(page, "where it is called", of);
        self.table(page, "in it that call or allocate", inside);
    }

    fn json(&self) -> serde_json::Result<Map<String, Value>> {
        let entry = |call: &Call<'a>| Entry {
            place: PlaceFields::new(call.place),
            first_column: call.place.columns().map(|(first, _)| first),
            last_column: call.place.columns().map(|(_, last)| last),
            total: call.total.into(),
            total_share: self.share(call.total),
            own: call.own.into(),
        };
        let entries = |calls: &[Call<'a>]| self.shown(calls).iter().map(entry).collect();
        let calls::Calls { total, of, inside } = &self.found;
        fields(&Document {
            path: self.path.to_string(),
            total: (*total).into(),
            called_total: of.len(),
            called: entries(of),
            inside_total: inside.len(),
            inside: entries(inside),
        })
    }
}

#[derive(Serialize)]
struct Document<'a> {
    path: String,
    total: Number,
    called_total: usize,
    called: Vec<Entry<'a>>,
    inside_total: usize,
    inside: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    first_column: Option<u32>,
    last_column: Option<u32>,
    total: Number,
    total_share: f64,
    own: Number,
}
