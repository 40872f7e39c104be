//! Hot paths: sequences of calls, anywhere in backtraces, that explain most.

use lifetrace_analysis::Metric;
use lifetrace_analysis::paths::{Path, Paths as Found};
use lifetrace_analysis::statistics::heavy::Options as Search;
use lifetrace_human as human;
use lifetrace_study::accounts::Accounts;
use serde::Serialize;

use super::callsites::{INDENT, backtrace_line};
use super::{Render, measure};
use crate::Options;
use crate::amounts::{Number, measured};
use crate::backtrace::shorten_to;
use crate::fields::{Line, number};
use crate::page::Page;
use crate::style::{FAINT, SHARE, STRONG};

/// What a path must explain that longer paths around it do not.
const LEAST_SHARE: f64 = 0.01;
/// Lines of a path that is too long.
const INNERMOST: usize = 10;
const OUTERMOST: usize = 3;

/// Hot paths: the document of the view.
#[derive(Debug, Serialize)]
pub struct Paths<'a> {
    least_share: f64,
    /// By how much amounts may be too small, where there are too many backtraces for all.
    #[serde(serialize_with = "number")]
    error: f64,
    paths_total: usize,
    /// The first of them.
    paths: Vec<Entry<'a>>,
    /// `error`, as a part of all.
    #[serde(skip)]
    error_share: f64,
    #[serde(skip)]
    metric: Metric,
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    share: f64,
    fresh_share: f64,
    total: Number,
    /// What no path above it, and no longer one around it, explains.
    fresh: Number,
    frames: Vec<Line<'a>>,
}

impl<'a> Paths<'a> {
    /// Finds the answer in one trace, or in several.
    pub fn new(of: &'a impl Accounts, options: &Options) -> Self {
        let metric = options.metric;
        let (sites, values) = of.sites(metric);
        let search = Search { share: LEAST_SHARE, ..Search::default() };
        let found = Found::new(&sites, &values, search);
        let total = found.total.value;
        let share = |part: f64| if total > 0.0 { part / total } else { 0.0 };
        let entry = |path: &Path| Entry {
            share: share(path.total.value),
            fresh_share: share(path.fresh.value),
            total: Number(path.total),
            fresh: Number(path.fresh),
            frames: found.lines(path).map(|line| Line(sites.shaped().line(line))).collect(),
        };
        Self {
            least_share: LEAST_SHARE,
            error: found.error,
            paths_total: found.paths.len(),
            paths: found.paths.iter().take(options.top).map(entry).collect(),
            error_share: share(found.error),
            metric,
        }
    }

    fn heading(&self) -> String {
        let explained: f64 = self.paths.iter().map(|path| path.fresh_share).sum();
        let how_many = match (self.paths.len(), self.paths_total) {
            (1, 1) => "The only hot path".to_owned(),
            (shown, all) if shown == all => format!("All {all} hot paths"),
            (shown, all) => format!("{shown} of {all} hot paths"),
        };
        let (what, share) = (measure(self.metric), human::percent(explained));
        format!("{how_many} by {what}: {share} of the total")
    }

    /// What a reader must know to trust the shares.
    fn conditions(&self) -> String {
        let least = human::percent(LEAST_SHARE);
        let exact = match self.error {
            0.0 => String::new(),
            _ => {
                let error = human::percent(self.error_share);
                format!(
                    " The trace has too many backtraces for all: shares may be too small by {error}."
                )
            }
        };
        format!(
            "A path may be anywhere in a backtrace. By itself it explains what no path above it and no \
             longer one around it does; {least} at least. Recursion is folded.{exact}"
        )
    }

    fn path(&self, page: &mut Page, rank: usize, path: &Entry<'_>) {
        let share = human::percent(path.share);
        let head = format!("{rank:>3}. {share:>7}");
        let amount = measured(self.metric, &path.total.0);
        let fresh = human::percent(path.fresh_share);
        let news = if fresh == share { String::new() } else { format!(", {fresh} by itself") };
        page.entry(SHARE, &head, INDENT, &format!("{amount}{news}"));
        let frames: Vec<_> = path.frames.iter().map(|line| line.0).collect();
        let lines = shorten_to(&frames, INNERMOST, OUTERMOST);
        lines.iter().for_each(|line| backtrace_line(page, line));
    }
}

impl Render for Paths<'_> {
    fn render(&self, page: &mut Page) {
        if self.paths_total == 0 {
            let (least, what) = (human::percent(LEAST_SHARE), measure(self.metric));
            page.prose("", STRONG, &format!("No path explains {least} of the {what}"));
            return;
        }
        page.prose("", STRONG, &self.heading());
        page.prose("", FAINT, &self.conditions());
        for (rank, path) in (1..).zip(&self.paths) {
            page.line("");
            self.path(page, rank, path);
        }
    }
}
