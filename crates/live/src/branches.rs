//! How a program came to a callsite: the backtraces that end there, from the outermost function on, with what lives by
//! each.

use lifetrace_analysis::Metric;
use lifetrace_analysis::branches::{self, Limits};
use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::{Estimate, Shaped, Sites};
use lifetrace_report::{brief_source, function, levels};
use lifetrace_study::accounts::Accounts;

use crate::book::Book;
use crate::sites::{SiteName, SiteTable};

/// Rows of a tree: more than anybody reads on a terminal.
const LIMITS: Limits = Limits { min_share: 0.005, rows: 200 };

/// A function on the way to a callsite.
#[derive(Clone, Debug)]
pub struct Branch {
    /// How many forks are above it.
    pub level: usize,
    /// The function, safe to show.
    pub function: String,
    /// The end of its file's name and the line; empty if there are none.
    pub source: String,
    /// Bytes that live and were allocated through it.
    pub live: Estimate,
    /// Its part, between 0 and 1, of what the callsite has.
    pub share: f64,
    /// How many rows below it are too small to be shown.
    pub left_out: usize,
}

/// The tree of a callsite, parents before children, the greatest first.
pub fn tree(book: &Book, table: &SiteTable, site: &SiteName) -> Vec<Branch> {
    let Some(wanted) = table.find(site) else { return Vec::new() };
    let sites = Sites::new(Shaped::new(book.tree(), book.names(), book.view()));
    let of_site = book.balances().filter(|(node, _)| table.of(*node) == Some(wanted));
    let live = of_site.map(|(node, balance)| (node, Metric::Live.of(&balance)));
    let values: Vec<(NodeId, Estimate)> = sites.shaped().merge(live);
    let total: f64 = values.iter().map(|(_, value)| value.value).sum();
    let rows = branches::down(sites.shaped(), values, &LIMITS);
    let depths: Vec<_> = rows.iter().map(|row| row.depth).collect();
    let branch = |(row, level): (&branches::Row, usize)| {
        let place = row.line.map(|line| sites.shaped().line(line).place);
        Branch {
            level,
            function: place.map_or_else(|| "(no backtrace)".to_owned(), |place| function(&place)),
            source: place.and_then(|place| brief_source(&place)).unwrap_or_default(),
            live: row.total,
            share: if total > 0.0 { row.total.value / total } else { 0.0 },
            left_out: row.left_out,
        }
    };
    rows.iter().zip(levels(&depths)).map(branch).collect()
}
