//! Callers and callees.

use lifetrace_analysis::branches::{self, Limits, Row};
use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::filter::{Focus, View};
use lifetrace_analysis::{Estimate, Metric, Sites};
use lifetrace_human as human;
use lifetrace_study::accounts::Accounts;
use serde::{Serialize, Serializer};

use super::{Render, measure};
use crate::Options;
use crate::amounts::{Number, measured};
use crate::branching::Branching;
use crate::fields::Line;
use crate::page::Page;
use crate::place::{brief_source, function};
use crate::style::{FAINT, PLAIN, SHARE, STRONG};

/// Rows for each callsite that is asked for.
const ROWS: usize = 8;
const MIN_SHARE: f64 = 0.005;

/// A call tree: the document of the view.
#[derive(Debug, Serialize)]
pub struct Tree<'a> {
    /// Whether callers are below.
    #[serde(rename = "inverted", serialize_with = "inverted")]
    way: Way,
    /// Rows, each before those below it.
    tree: Vec<Branch<'a>>,
    #[serde(skip)]
    metric: Metric,
}

#[derive(Debug, Serialize)]
struct Branch<'a> {
    depth: usize,
    #[serde(flatten)]
    line: Option<Line<'a>>,
    share: f64,
    total: Number,
    own: Number,
    left_out: usize,
}

/// What is below a function.
#[derive(Debug)]
enum Way {
    /// Those that it calls, from the outermost functions on.
    Callees,
    /// Those that call it, from the callsites on.
    Callers,
    /// Those that call it, from the last function of a path on.
    CallersOf(Focus),
}

fn inverted<S: Serializer>(way: &Way, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(!matches!(way, Way::Callees))
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
    /// Finds the answer in one trace, or in several.
    pub fn new(of: &'a impl Accounts, options: &Options) -> Self {
        let metric = options.metric;
        let limits = Limits { min_share: MIN_SHARE, rows: options.top.saturating_mul(ROWS) };
        let (way, (sites, values)) = match (&of.view().focus, options.inverted) {
            (Some(path), true) => (Way::CallersOf(path.clone()), callers_of(of, metric, path)),
            (None, true) => (Way::Callers, callers(of.sites(metric))),
            (_, false) => (Way::Callees, of.sites(metric)),
        };
        let total: f64 = values.iter().map(|(_, value)| value.value).sum();
        let rows = match way {
            Way::Callees => branches::down(sites.shaped(), values, &limits),
            _ => branches::up(sites.shaped(), values, &limits),
        };
        let branch = |row: &Row| Branch {
            depth: row.depth,
            line: row.line.map(|line| Line(sites.shaped().line(line))),
            share: if total > 0.0 { row.total.value / total } else { 0.0 },
            total: Number(row.total),
            own: Number(row.own),
            left_out: row.left_out,
        };
        Self { way, tree: rows.iter().map(branch).collect(), metric }
    }

    fn branching(&self, branch: &Branch<'_>, level: usize) -> Branching {
        let amount = measured(self.metric, &branch.total.0);
        let frame = branch.line.map(|line| line.0);
        let place = frame.map(|frame| frame.place);
        let (name, source) = place.map_or_else(
            || ("(no backtrace)".to_owned(), None),
            |place| (function(&place), brief_source(&place)),
        );
        Branching {
            amount: format!("{:>7}  {amount}", human::percent(branch.share)),
            amount_style: SHARE,
            level,
            name,
            source: source.unwrap_or_default(),
            style: if frame.is_some_and(|frame| frame.is_machinery) { FAINT } else { PLAIN },
        }
    }
}

impl Render for Tree<'_> {
    fn render(&self, page: &mut Page) {
        let what = measure(self.metric);
        let heading = match &self.way {
            Way::Callees => format!("Call tree by {what}, with callees below"),
            Way::Callers => format!("Call tree by {what}, with callers below"),
            Way::CallersOf(path) => format!("Callers of {path} by {what} that came through it"),
        };
        page.prose("", STRONG, &heading);
        page.line("");
        let depths: Vec<_> = self.tree.iter().map(|branch| branch.depth).collect();
        let branches = self.tree.iter().zip(levels(&depths));
        let branches: Vec<_> =
            branches.map(|(branch, level)| self.branching(branch, level)).collect();
        page.branches(&branches);
        let left_out: usize = self.tree.iter().map(|branch| branch.left_out).sum();
        if left_out > 0 {
            let text = format!("{left_out} smaller branches are left out; --top N shows more");
            page.prose("", FAINT, &text);
        }
    }
}

/// How far to the right the rows of a tree are that are so deep: as many forks as are above them.
pub fn levels(depths: &[usize]) -> Vec<usize> {
    let mut children = vec![0_usize; depths.len()];
    let mut parents = Vec::with_capacity(depths.len());
    let mut way: Vec<usize> = Vec::new();
    for (at, &depth) in depths.iter().enumerate() {
        way.truncate(depth);
        parents.push(way.last().copied());
        if let Some(&parent) = way.last() {
            children[parent] += 1;
        }
        way.push(at);
    }
    let mut levels: Vec<usize> = Vec::with_capacity(depths.len());
    for parent in parents {
        levels.push(parent.map_or(0, |parent| levels[parent] + usize::from(children[parent] > 1)));
    }
    levels
}
