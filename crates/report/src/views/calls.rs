//! Where a function is called, and where in it calls are made: by line and columns.

use anyhow::Context;
use lifetrace_analysis::calls::{self, Call};
use lifetrace_analysis::filter::View;
use lifetrace_analysis::{Estimate, Metric, Place};
use lifetrace_human as human;
use lifetrace_study::accounts::Accounts;
use serde::Serialize;

use super::{Render, measure};
use crate::Options;
use crate::amounts::{Number, measured};
use crate::fields::PlaceFields;
use crate::page::Page;
use crate::place::{exact_source, function};
use crate::style::STRONG;
use crate::table::{Cell, Column, Table, Tail};

/// The calls of a function, and those in it: the document of the view.
#[derive(Debug, Serialize)]
pub struct Calls<'a> {
    path: String,
    /// All that came through it.
    total: Number,
    called_total: usize,
    /// The first of the places where it is called.
    called: Vec<Entry<'a>>,
    inside_total: usize,
    /// The first of the places in it that call or allocate.
    inside: Vec<Entry<'a>>,
    #[serde(skip)]
    metric: Metric,
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    first_column: Option<u32>,
    last_column: Option<u32>,
    total: Number,
    total_share: f64,
    own: Number,
    #[serde(skip)]
    own_share: f64,
}

impl<'a> Calls<'a> {
    /// Finds the answer in one trace, or in several.
    ///
    /// # Errors
    /// If no function is named.
    pub fn new(of: &'a impl Accounts, options: &Options) -> anyhow::Result<Self> {
        let path = of.view().focus.clone();
        let path =
            path.context("the view 'calls' is about a function: --focus FUNCTION says which")?;
        let view = View { focus: None, by_column: true, ..of.view().clone() };
        let (sites, values) = of.sites_as(&view, options.metric);
        let calls::Calls { total, of, inside } = calls::Calls::new(&sites, values, &path);
        let entries = |calls: &[Call<'a>]| {
            let shown = calls.iter().take(options.top);
            shown.map(|call| Entry::new(call, total.value)).collect()
        };
        Ok(Self {
            path: path.to_string(),
            total: Number(total),
            called_total: of.len(),
            called: entries(&of),
            inside_total: inside.len(),
            inside: entries(&inside),
            metric: options.metric,
        })
    }

    fn table(&self, page: &mut Page, what: &str, shown: &[Entry<'a>], all: usize) {
        page.line("");
        page.prose("", STRONG, &format!("{} of {all} places {what}", shown.len()));
        page.line("");
        let mut table = Table::new([
            Column::share("came through"),
            Column::left("came through").continues(),
            Column::share("allocated there"),
        ]);
        table = table.with_tails("in");
        for call in shown {
            let name = match call.place.0 {
                Place::NoBacktrace => "(the outermost function)".to_owned(),
                place => function(&place),
            };
            let source = exact_source(&call.place.0).unwrap_or_default();
            table.row(self.row(call), Tail::Place { name, source });
        }
        page.table(&table);
    }

    fn row(&self, call: &Entry<'_>) -> [Cell; 3] {
        let own = match call.own.0.value {
            0.0 => String::new(),
            _ => human::percent(call.own_share),
        };
        let share = human::percent(call.total_share);
        [share, measured(self.metric, &call.total.0), own].map(Cell::from)
    }
}

impl<'a> Entry<'a> {
    fn new(call: &Call<'a>, all: f64) -> Self {
        let share = |part: Estimate| if all > 0.0 { part.value / all } else { 0.0 };
        let columns = call.place.columns();
        Self {
            place: PlaceFields(call.place),
            first_column: columns.map(|(first, _)| first),
            last_column: columns.map(|(_, last)| last),
            total: Number(call.total),
            total_share: share(call.total),
            own: Number(call.own),
            own_share: share(call.own),
        }
    }
}

impl Render for Calls<'_> {
    fn render(&self, page: &mut Page) {
        let what = measure(self.metric);
        if self.called_total == 0 {
            return page.prose("", STRONG, &format!("No {what} came through {}", self.path));
        }
        let total = measured(self.metric, &self.total.0);
        page.prose("", STRONG, &format!("{total} came through {}, by {what}", self.path));
        self.table(page, "where it is called", &self.called, self.called_total);
        self.table(page, "in it that call or allocate", &self.inside, self.inside_total);
    }
}
