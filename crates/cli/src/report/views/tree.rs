//! Callers and callees.

use lifetrace_analysis::branches::{self, Limits, Row};
use lifetrace_analysis::{Estimate, Metric, Sites};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{View, fields, measure};
use crate::accounts::Accounts;
use crate::cmd::report::Options;
use crate::human;
use crate::report::amounts::{Number, measured};
use crate::report::branching::Branching;
use crate::report::json::Line;
use crate::report::page::Page;
use crate::report::place::{brief_source, function};
use crate::terminal::{FAINT, PLAIN, SHARE, STRONG};

/// Rows for each callsite that is asked for.
const ROWS: usize = 8;
const MIN_SHARE: f64 = 0.005;

/// A call tree.
pub struct Tree<'a> {
    sites: Sites<'a>,
    rows: Vec<Row>,
    total: f64,
    metric: Metric,
    inverted: bool,
}

impl<'a> Tree<'a> {
    pub fn new(of: &'a impl Accounts, options: &Options) -> Self {
        let metric = options.metric;
        let (sites, values) = of.sites(metric);
        let total = values.iter().map(|(_, value)| value.value).sum();
        let limits = Limits { min_share: MIN_SHARE, rows: options.top.saturating_mul(ROWS) };
        let rows = if options.inverted {
            branches::up(&sites, values, &limits)
        } else {
            branches::down(sites.shaped(), values, &limits)
        };
        Self { sites, rows, total, metric, inverted: options.inverted }
    }

    fn share(&self, part: Estimate) -> f64 {
        if self.total > 0.0 { part.value / self.total } else { 0.0 }
    }

    fn branch(&self, row: &Row, level: usize) -> Branching {
        let amount = measured(self.metric, &row.total);
        let frame = row.line.map(|line| self.sites.shaped().line(line));
        let place = frame.map(|frame| frame.place);
        let (name, source) = place.map_or_else(
            || ("(no backtrace)".to_owned(), None),
            |place| (function(&place), brief_source(&place)),
        );
        Branching {
            amount: format!("{:>7}  {amount}", human::percent(self.share(row.total))),
            amount_style: SHARE,
            level,
            name,
            source: source.unwrap_or_default(),
            style: if frame.is_some_and(|frame| frame.is_machinery) { FAINT } else { PLAIN },
        }
    }
}

impl View for Tree<'_> {
    fn text(&self, page: &mut Page) {
        let (what, way) = (measure(self.metric), if self.inverted { "callers" } else { "callees" });
        page.prose("", STRONG, &format!("Call tree by {what}, with {way} below"));
        page.line("");
        let rows = self.rows.iter().zip(levels(&self.rows));
        let branches: Vec<_> = rows.map(|(row, level)| self.branch(row, level)).collect();
        page.branches(&branches);
        let left_out: usize = self.rows.iter().map(|row| row.left_out).sum();
        if left_out > 0 {
            let text = format!("{left_out} smaller branches are left out; --top N shows more");
            page.prose("", FAINT, &text);
        }
    }

    fn json(&self) -> serde_json::Result<Map<String, Value>> {
        let row = |row: &Row| Branch {
            depth: row.depth,
            line: row.line.map(|line| Line::new(self.sites.shaped().line(line))),
            share: self.share(row.total),
            total: row.total.into(),
            own: row.own.into(),
            left_out: row.left_out,
        };
        fields(&Document { inverted: self.inverted, tree: self.rows.iter().map(row).collect() })
    }
}

/// How far to the right rows are: as many forks as are above them.
fn levels(rows: &[Row]) -> Vec<usize> {
    let mut children = vec![0_usize; rows.len()];
    let mut parents = Vec::with_capacity(rows.len());
    let mut way: Vec<usize> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        way.truncate(row.depth);
        parents.push(way.last().copied());
        if let Some(&parent) = way.last() {
            children[parent] += 1;
        }
        way.push(at);
    }
    let mut levels: Vec<usize> = Vec::with_capacity(rows.len());
    for parent in parents {
        levels.push(parent.map_or(0, |parent| levels[parent] + usize::from(children[parent] > 1)));
    }
    levels
}

#[derive(Serialize)]
struct Document<'a> {
    inverted: bool,
    tree: Vec<Branch<'a>>,
}

#[derive(Serialize)]
struct Branch<'a> {
    depth: usize,
    #[serde(flatten)]
    line: Option<Line<'a>>,
    share: f64,
    total: Number,
    own: Number,
    left_out: usize,
}
