//! Functions, by themselves and with all that they call.

use lifetrace_analysis::functions::{Function, functions};
use lifetrace_analysis::{Estimate, Metric};
use lifetrace_human as human;
use lifetrace_study::accounts::Accounts;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{View, fields, measure};
use crate::Options;
use crate::amounts::{Number, measured};
use crate::json::PlaceFields;
use crate::page::Page;
use crate::place::{file, function};
use crate::style::STRONG;
use crate::table::{Cell, Column, Table, Tail};

/// All functions.
pub struct Functions<'a> {
    functions: Vec<Function<'a>>,
    total: f64,
    metric: Metric,
    top: usize,
}

impl<'a> Functions<'a> {
    pub fn new(of: &'a impl Accounts, options: &Options) -> Self {
        let metric = options.metric;
        let (sites, values) = of.sites(metric);
        let total = values.iter().map(|(_, value)| value.value).sum();
        Self { functions: functions(&sites, &values), total, metric, top: options.top }
    }

    fn share(&self, part: Estimate) -> f64 {
        if self.total > 0.0 { part.value / self.total } else { 0.0 }
    }

    fn row(&self, function: &Function<'_>) -> [Cell; 4] {
        let Function { own, total, .. } = function;
        let amount = |estimate: &Estimate| match estimate.value {
            0.0 => String::new(),
            _ => measured(self.metric, estimate),
        };
        let share = |estimate: Estimate| match estimate.value {
            0.0 => String::new(),
            _ => human::percent(self.share(estimate)),
        };
        [share(*total), amount(total), share(*own), amount(own)].map(Cell::from)
    }
}

impl<'a> View for Functions<'a> {
    fn text(&self, page: &mut Page) {
        let shown = &self.functions[..self.top.min(self.functions.len())];
        let what = measure(self.metric);
        let all = self.functions.len();
        let heading =
            format!("{} of {all} functions by {what}, what they call included", shown.len());
        page.prose("", STRONG, &heading);
        page.line("");
        let mut table = Table::new([
            Column::share("total"),
            Column::left("total").continues(),
            Column::share("self"),
            Column::left("self").continues(),
        ]);
        table = table.with_tails("function");
        for it in shown {
            let tail = Tail::Place {
                name: function(&it.place),
                source: file(&it.place).unwrap_or_default(),
            };
            table.row(self.row(it), tail);
        }
        page.table(&table);
    }

    fn json(&self) -> serde_json::Result<Map<String, Value>> {
        let entry = |function: &Function<'a>| Entry {
            place: PlaceFields::new(function.place),
            total: function.total.into(),
            total_share: self.share(function.total),
            own: function.own.into(),
            own_share: self.share(function.own),
        };
        fields(&Document {
            functions_total: self.functions.len(),
            functions: self.functions.iter().take(self.top).map(entry).collect(),
        })
    }
}

#[derive(Serialize)]
struct Document<'a> {
    functions_total: usize,
    functions: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    total: Number,
    total_share: f64,
    own: Number,
    own_share: f64,
}
