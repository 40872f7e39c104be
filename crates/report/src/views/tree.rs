//! Callers and callees.

use lifetrace_analysis::branches::{self, Limits, Row};
use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::filter::{Focus, View};
use lifetrace_analysis::{Estimate, Metric, Sites};
use lifetrace_human as human;
use lifetrace_study::accounts::Accounts;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{fields, measure};
use crate::Options;
use crate::amounts::{Number, measured};
use crate::branching::Branching;
use crate::json::Line;
use crate::page::Page;
use crate::place::{brief_source, function};
use crate::style::{FAINT, PLAIN, SHARE, STRONG};

/// Rows for each callsite that is asked for.
const ROWS: usize = 8;
const MIN_SHARE: f64 = 0.005;

/// A call tree.
pub struct Tree<'a> {
    sites: Sites<'a>,
    rows: Vec<Row>,
    total: f64,
    metric: Metric,
    way: Way,
}

/// What is below a function.
enum Way {
    /// Those that it calls, from the outermost functions on.
    Callees,
    /// Those that call it, from the callsites on.
    Callers,
    /// Likewise, from the last function of a path on.
    CallersOf(Focus),
}

/// Callsites, and what each backtrace, as it looks, has.
type Values<'a> = (Sites<'a>, Vec<(NodeId, Estimate)>);

/// From the callsites on.
fn callers((sites, values): Values<'_>) -> Values<'_> {
    let begin = |(node, value)| (sites.begin(node), value);
    let values = values.into_iter().map(begin).collect();
    (sites, values)
}

/// From the last function of a path on, where a backtrace comes to it first.
fn callers_of<'a>(of: &'a impl Accounts, metric: Metric, path: &Focus) -> Values<'a> {
    let (sites, values) = of.sites_as(&View { focus: None, ..of.view().clone() }, metric);
    let ends = sites.shaped().ends_of(path);
    let begin = |(node, value): (NodeId, Estimate)| Some((ends[node.index()]?, value));
    let values = values.into_iter().filter_map(begin).collect();
    (sites, values)
}

impl<'a> Tree<'a> {
    pub fn new(of: &'a impl Accounts, options: &Options) -> Self {
        let metric = options.metric;
        let limits = Limits { min_share: MIN_SHARE, rows: options.top.saturating_mul(ROWS) };
        let (way, (sites, values)) = match (&of.view().focus, options.inverted) {
            (Some(path), true) => (Way::CallersOf(path.clone()), callers_of(of, metric, path)),
            (None, true) => (Way::Callers, callers(of.sites(metric))),
            (_, false) => (Way::Callees, of.sites(metric)),
        };
        let total = values.iter().map(|(_, value)| value.value).sum();
        let rows = match way {
            Way::Callees => branches::down(sites.shaped(), values, &limits),
            _ => branches::up(sites.shaped(), values, &limits),
        };
        Self { sites, rows, total, metric, way }
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

impl super::View for Tree<'_> {
    fn text(&self, page: &mut Page) {
        let what = measure(self.metric);
        let heading = match &self.way {
            Way::Callees => format!("Call tree by {what}, with callees below"),
            Way::Callers => format!("Call tree by {what}, with callers below"),
            Way::CallersOf(path) => format!("Callers of {path} by {what} that came through it"),
        };
        page.prose("", STRONG, &heading);
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
        let inverted = !matches!(self.way, Way::Callees);
        fields(&Document { inverted, tree: self.rows.iter().map(row).collect() })
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
