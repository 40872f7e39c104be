//! Hot paths: sequences of calls, anywhere in backtraces, that explain most.

use lifetrace_analysis::paths::{Path, Paths as Found};
use lifetrace_analysis::statistics::heavy::Options as Search;
use lifetrace_analysis::{Frame, Metric, Sites};
use lifetrace_human as human;
use lifetrace_study::accounts::Accounts;
use serde::Serialize;
use serde_json::{Map, Value};

use super::callsites::{INDENT, backtrace_line};
use super::{View, fields, measure};
use crate::Options;
use crate::amounts::{Number, measured};
use crate::backtrace::shorten_to;
use crate::json::Line;
use crate::numbers::number;
use crate::page::Page;
use crate::style::{FAINT, SHARE, STRONG};

/// What a path must explain that longer paths around it do not.
const LEAST_SHARE: f64 = 0.01;
/// Lines of a path that is too long.
const INNERMOST: usize = 10;
const OUTERMOST: usize = 3;

/// Hot paths.
pub struct Paths<'a> {
    sites: Sites<'a>,
    found: Found,
    metric: Metric,
    top: usize,
}

impl<'a> Paths<'a> {
    pub fn new(of: &'a impl Accounts, options: &Options) -> Self {
        let metric = options.metric;
        let (sites, values) = of.sites(metric);
        let search = Search { share: LEAST_SHARE, ..Search::default() };
        let found = Found::new(&sites, &values, search);
        Self { sites, found, metric, top: options.top }
    }

    fn share(&self, part: f64) -> f64 {
        if self.found.total.value > 0.0 { part / self.found.total.value } else { 0.0 }
    }

    fn shown(&self) -> &[Path] {
        &self.found.paths[..self.top.min(self.found.paths.len())]
    }

    fn heading(&self) -> String {
        let (shown, all) = (self.shown(), self.found.paths.len());
        let explained = shown.iter().map(|path| path.fresh.value).sum();
        let how_many = match (shown.len(), all) {
            (1, 1) => "The only hot path".to_owned(),
            (shown, all) if shown == all => format!("All {all} hot paths"),
            (shown, all) => format!("{shown} of {all} hot paths"),
        };
        let (what, share) = (measure(self.metric), human::percent(self.share(explained)));
        format!("{how_many} by {what}: {share} of the total")
    }

    /// What a reader must know to trust the shares.
    fn conditions(&self) -> String {
        let least = human::percent(LEAST_SHARE);
        let exact = match self.found.error {
            0.0 => String::new(),
            error => {
                let error = human::percent(self.share(error));
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

    fn path(&self, page: &mut Page, rank: usize, path: &Path) {
        let share = human::percent(self.share(path.total.value));
        let head = format!("{rank:>3}. {share:>7}");
        let amount = measured(self.metric, &path.total);
        let fresh = human::percent(self.share(path.fresh.value));
        let news = if fresh == share { String::new() } else { format!(", {fresh} by itself") };
        page.entry(SHARE, &head, INDENT, &format!("{amount}{news}"));
        let lines = shorten_to(&self.frames(path), INNERMOST, OUTERMOST);
        lines.iter().for_each(|line| backtrace_line(page, line));
    }

    fn frames(&self, path: &Path) -> Vec<Frame<'_>> {
        self.found.lines(path).map(|line| self.sites.shaped().line(line)).collect()
    }
}

impl View for Paths<'_> {
    fn text(&self, page: &mut Page) {
        if self.found.paths.is_empty() {
            let (least, what) = (human::percent(LEAST_SHARE), measure(self.metric));
            page.prose("", STRONG, &format!("No path explains {least} of the {what}"));
            return;
        }
        page.prose("", STRONG, &self.heading());
        page.prose("", FAINT, &self.conditions());
        for (rank, path) in (1..).zip(self.shown()) {
            page.line("");
            self.path(page, rank, path);
        }
    }

    fn json(&self) -> serde_json::Result<Map<String, Value>> {
        let entry = |path: &Path| Entry {
            share: self.share(path.total.value),
            fresh_share: self.share(path.fresh.value),
            total: path.total.into(),
            fresh: path.fresh.into(),
            frames: self.frames(path).into_iter().map(Line::new).collect(),
        };
        fields(&Document {
            least_share: LEAST_SHARE,
            error: self.found.error,
            paths_total: self.found.paths.len(),
            paths: self.shown().iter().map(entry).collect(),
        })
    }
}

#[derive(Serialize)]
struct Document<'a> {
    least_share: f64,
    #[serde(serialize_with = "number")]
    error: f64,
    paths_total: usize,
    paths: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    share: f64,
    fresh_share: f64,
    total: Number,
    fresh: Number,
    frames: Vec<Line<'a>>,
}
