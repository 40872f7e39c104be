//! Functions, by themselves and with all that they call.

use lifetrace_analysis::functions::{Function, functions};
use lifetrace_analysis::{Estimate, Metric};
use lifetrace_human as human;
use lifetrace_study::accounts::Accounts;
use serde::Serialize;

use super::{Render, measure};
use crate::Options;
use crate::amounts::{Number, measured};
use crate::fields::PlaceFields;
use crate::page::Page;
use crate::place::{file, function};
use crate::style::STRONG;
use crate::table::{Cell, Column, Table, Tail};

/// Functions, by themselves and with all that they call: the document of the view.
#[derive(Debug, Serialize)]
pub struct Functions<'a> {
    functions_total: usize,
    /// The first of them, by what they and what they call have.
    functions: Vec<Entry<'a>>,
    #[serde(skip)]
    metric: Metric,
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    total: Number,
    total_share: f64,
    own: Number,
    own_share: f64,
}

impl<'a> Functions<'a> {
    /// Finds the answer in one trace, or in several.
    pub fn new(of: &'a impl Accounts, options: &Options) -> Self {
        let metric = options.metric;
        let (sites, values) = of.sites(metric);
        let total = values.iter().map(|(_, value)| value.value).sum();
        let all = functions(&sites, &values);
        Self {
            functions_total: all.len(),
            functions: all.iter().take(options.top).map(|it| Entry::new(it, total)).collect(),
            metric,
        }
    }

    fn row(&self, function: &Entry<'_>) -> [Cell; 4] {
        let cells = |number: &Number, share: f64| match number.0.value {
            0.0 => [String::new(), String::new()],
            _ => [human::percent(share), measured(self.metric, &number.0)],
        };
        let [total_share, total] = cells(&function.total, function.total_share);
        let [own_share, own] = cells(&function.own, function.own_share);
        [total_share, total, own_share, own].map(Cell::from)
    }
}

impl<'a> Entry<'a> {
    fn new(function: &Function<'a>, total: f64) -> Self {
        let share = |part: Estimate| if total > 0.0 { part.value / total } else { 0.0 };
        Self {
            place: PlaceFields(function.place),
            total: Number(function.total),
            total_share: share(function.total),
            own: Number(function.own),
            own_share: share(function.own),
        }
    }
}

impl Render for Functions<'_> {
    fn render(&self, page: &mut Page) {
        let (shown, all) = (self.functions.len(), self.functions_total);
        let what = measure(self.metric);
        let heading = format!("{shown} of {all} functions by {what}, what they call included");
        page.prose("", STRONG, &heading);
        page.line("");
        let mut table = Table::new([
            Column::share("total"),
            Column::left("total").continues(),
            Column::share("self"),
            Column::left("self").continues(),
        ]);
        table = table.with_tails("function");
        for it in &self.functions {
            let tail = Tail::Place {
                name: function(&it.place.0),
                source: file(&it.place.0).unwrap_or_default(),
            };
            table.row(self.row(it), tail);
        }
        page.table(&table);
    }
}
