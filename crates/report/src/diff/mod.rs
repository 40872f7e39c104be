//! What changed between traces: [`text`](Diff::text) and [`json`](Diff::json) tell the same facts.
//!
//! One trace is held at a time: what is compared of it is its totals, and a name and a number for each
//! callsite, function or path.

mod json;
mod text;

use std::path::{Path, PathBuf};

use lifetrace_analysis::diff::{
    Change, Entry, NameTree, RunEntries, TreeChange, TreeSide, compare, compare_trees,
};
use lifetrace_analysis::functions::functions;
use lifetrace_analysis::gate::ChangeGate;
use lifetrace_analysis::metric::Unit;
use lifetrace_analysis::statistics::{self, Difference, Run};
use lifetrace_analysis::{Estimate, Metric, Place, Shaped, Sites, Summary};
use lifetrace_human::named;
use lifetrace_study::Study;
use lifetrace_study::choice::Choice;
use lifetrace_study::damages::Damages;
use lifetrace_study::origin::{Origin, of_measure, of_metric};
use lifetrace_study::sought::Sought;
use lifetrace_study::watch::Watch;

use crate::gates::{self, Judged};

named! {
    /// What is compared.
    #[derive(Default)]
    pub enum By {
        /// Places that ask for memory
        #[default]
        Callsite = "callsite",
        /// Functions, with all that they call
        Function = "function",
        /// Call tree, by names of functions
        Tree = "tree",
    }
}

/// How traces are compared.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is compared.
    pub by: By,
    /// What of it.
    pub metric: Metric,
    /// Number of changes shown.
    pub top: usize,
    /// Probability, for what is called significant, to be noise.
    pub level: f64,
    /// Whether what may be noise is shown too.
    pub all: bool,
    /// What of each trace is looked at.
    pub choice: Choice,
}

/// What changed.
pub struct Diff {
    options: Options,
    before: Side,
    after: Side,
    totals: Vec<(Metric, Difference)>,
    rows: Rows,
    /// What was wrong with each trace.
    pub damages: Vec<Damages>,
    /// The frames that were typed.
    pub sought: Sought,
}

enum Rows {
    Places(Vec<Change>),
    Tree(Vec<TreeChange>),
}

/// The runs of a side.
#[derive(Default)]
struct Side {
    paths: Vec<PathBuf>,
    summaries: Vec<Summary>,
    places: Vec<RunEntries>,
    tree: TreeSide,
    values: Vec<Vec<(Metric, Run)>>,
    /// Where each comes from.
    origins: Vec<Origin>,
}

impl Diff {
    /// Compares traces.
    ///
    /// # Errors
    /// If one cannot be opened, or its samples mean nothing, or a side has none.
    pub fn of(
        before: &[PathBuf],
        after: &[PathBuf],
        options: Options,
        watch: Watch,
    ) -> anyhow::Result<Self> {
        anyhow::ensure!(!before.is_empty(), "there is no trace of before");
        anyhow::ensure!(!after.is_empty(), "there is no trace of after");
        let (mut common, mut damages) = (NameTree::default(), Vec::new());
        let mut sought = Sought::of(&options.choice);
        let mut side = |paths: &[PathBuf]| {
            let mut side = Side::default();
            for path in paths {
                damages.push(side.add(path, &options, &mut common, &mut sought, watch)?);
            }
            anyhow::Ok(side)
        };
        let (before, after) = (side(before)?, side(after)?);
        let rows = match options.by {
            By::Callsite | By::Function => Rows::Places(compare(&before.places, &after.places)),
            By::Tree => {
                Rows::Tree(compare_trees(&common, &before.tree, &after.tree, 4 * options.top))
            }
        };
        let told = |metric: &Metric| before.tells(*metric) && after.tells(*metric);
        let totals = Metric::ALL.into_iter().filter(told).filter_map(|metric| {
            let difference = Difference::of(&before.runs(metric), &after.runs(metric))?;
            Some((metric, difference))
        });
        let totals = totals.collect();
        Ok(Self { options, before, after, totals, rows, damages, sought })
    }

    /// Refuses conditions that cannot be judged.
    ///
    /// # Errors
    /// If a trace does not tell what they are about.
    pub fn refuse(&self, gates: &[ChangeGate]) -> anyhow::Result<()> {
        for side in [&self.before, &self.after] {
            for (path, origin) in side.paths.iter().zip(&side.origins) {
                for gate in gates {
                    let what = format!("the condition '{gate}'");
                    origin.refuse(path, &what, of_measure(gate.measure()))?;
                }
            }
        }
        Ok(())
    }

    /// What is found of conditions on the totals.
    pub fn judge(&self, gates: &[ChangeGate], is_strict: bool) -> Vec<Judged> {
        let judge = |gate: &ChangeGate| {
            let metric = gates::metric(gate.measure());
            let change =
                statistics::Change::of(&self.before.runs(metric), &self.after.runs(metric))?;
            let samples = [&self.before, &self.after].map(|side| {
                let samples = side.summaries.iter();
                samples.map(|summary| gates::samples(gate.measure(), summary)).sum()
            });
            Some(Judged::of_change(gate, &change, samples, is_strict))
        };
        gates.iter().filter_map(judge).collect()
    }
}

impl Side {
    fn add(
        &mut self,
        path: &Path,
        options: &Options,
        common: &mut NameTree,
        sought: &mut Sought,
        watch: Watch,
    ) -> anyhow::Result<Damages> {
        let study = Study::of(path, options.choice.clone(), watch)?;
        sought.look(&study.reading);
        let (reading, metric) = (&study.reading, options.metric);
        let what = format!("the metric {}", metric.name());
        reading.origin().refuse(path, &what, of_metric(metric))?;
        self.origins.push(reading.origin());
        let summary = reading.profile.summary();
        let view = &study.choice.view;
        let shaped = Shaped::new(reading.profile.tree(), &reading.trace, view);
        let sites = Sites::new(shaped);
        let balances = || reading.profile.balances();
        let values: Vec<(_, Estimate)> =
            sites.shaped().merge(balances().map(|(node, balance)| (node, metric.of(&balance))));
        let all: Vec<_> = Metric::ALL
            .into_iter()
            .map(|metric| {
                let mut estimate = Estimate::default();
                balances().for_each(|(_, balance)| estimate += metric.of(&balance));
                (metric, Run { estimate, grain: grain(metric, &summary, estimate) })
            })
            .collect();
        let grain = all.iter().find(|(it, _)| *it == metric).map_or(0.0, |(_, run)| run.grain);
        let place = |place: Place<'_>, value: Estimate| entry(&place, value);
        match options.by {
            By::Tree => self.tree.add(common, sites.shaped(), &values, grain),
            By::Function => {
                let entries = functions(&sites, &values)
                    .into_iter()
                    .map(|function| Entry { line: 0, ..place(function.place, function.total) });
                self.places.push(RunEntries { entries: entries.collect(), grain });
            }
            By::Callsite => {
                let found = balances().map(|(node, balance)| (node, metric.of(&balance)));
                let groups: Vec<(_, Estimate)> = sites.group(found);
                let entries =
                    groups.into_iter().map(|(site, value)| place(sites.place(site), value));
                self.places.push(RunEntries { entries: entries.collect(), grain });
            }
        }
        self.paths.push(path.to_owned());
        self.summaries.push(summary);
        self.values.push(all);
        drop(sites);
        Ok(study.reading.damages)
    }

    fn tells(&self, metric: Metric) -> bool {
        self.origins.iter().all(|origin| origin.tells(metric))
    }

    fn runs(&self, metric: Metric) -> Vec<Run> {
        let run = |values: &Vec<(Metric, Run)>| {
            values.iter().find(|(it, _)| *it == metric).map(|(_, run)| *run)
        };
        self.values.iter().filter_map(run).collect()
    }
}

fn entry(place: &Place<'_>, value: Estimate) -> Entry {
    match place {
        Place::Known(location) => Entry {
            function: location.defname.to_string(),
            file: location.filename.to_string(),
            line: location.line,
            value,
        },
        // Its number is an address, which means nothing in another run.
        Place::Unknown(_) => {
            Entry { function: "(unknown frame)".into(), file: String::new(), line: 0, value }
        }
        Place::NoBacktrace => {
            Entry { function: "(no backtrace)".into(), file: String::new(), line: 0, value }
        }
    }
}

/// What one more sampled block would add: as much as blocks that are hit once stand for.
fn grain(metric: Metric, summary: &Summary, total: Estimate) -> f64 {
    if summary.sampling.is_exact() {
        return 0.0;
    }
    let interval = summary.sampling.grain_bytes(&summary.allocated);
    let of_a_byte = |amount: f64| {
        if summary.allocated.bytes.value > 0.0 {
            amount / summary.allocated.bytes.value
        } else {
            0.0
        }
    };
    match metric.unit() {
        Unit::Bytes => interval,
        Unit::Objects | Unit::ByteSeconds => interval * of_a_byte(total.value),
    }
}
