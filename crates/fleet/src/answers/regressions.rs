//! What has changed from some runs to others: between versions, most of all.
//!
//! A run is one observation. Its amount at a callsite is an estimate, and runs differ by themselves: both are in the
//! difference of the sides' means (Welch's t test with the variance of sampling as its least; see
//! [`compare`](lifetrace_analysis::statistics::compare)). All callsites that matter are tested at once, and the probability
//! of *any* false alarm is kept below 5 % (Holm).

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use lifetrace_analysis::statistics::correction::holm;
use lifetrace_analysis::statistics::{Change, Difference, Run};
use lifetrace_analysis::{Estimate, Interval};
use lifetrace_human::counted;
use serde::Serialize;

use super::metric::{Metric, totals};
use super::page::{Page, place};
use super::rows::{each, widened};
use super::selection::Selection;
use crate::engine::Engine;

/// What is less probable is no chance.
const LEVEL: f64 = 0.05;

/// Callsites that have less than this part of what all have, on both sides, are not looked at: each one more makes it
/// harder to see something in the others.
const MATTERS: f64 = 1e-3;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// Runs of the one side.
    pub before: Selection,
    /// Runs of the other.
    pub after: Selection,
    /// By what.
    pub metric: Metric,
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Regressions {
    /// The two sides, in words.
    pub sides: [String; 2],
    /// How many runs they have.
    pub runs: [u64; 2],
    /// By what they were compared.
    pub metric: Metric,
    /// All callsites together.
    pub total: Option<Shift>,
    /// Those that have changed, the greatest change first.
    pub changed: Vec<Changed>,
    /// How many were looked at.
    pub tested: u64,
    /// The smallest change of a callsite that would have been seen with a probability of 80 %: of half of those that were
    /// looked at it is smaller.
    pub detectable: Option<f64>,
}

/// By how much the mean run differs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Shift {
    /// Mean bytes of a run before.
    pub before: f64,
    /// Mean bytes of a run after.
    pub after: f64,
    /// Ends of the 95 % interval of the change.
    pub change95: [f64; 2],
    /// How probable so great a change is if there is none, corrected if it is one of several.
    pub p_value: f64,
}

/// A callsite that has changed.
#[derive(Clone, Debug, Serialize)]
pub struct Changed {
    /// As in the table of sites.
    pub callsite: i64,
    /// Its function.
    pub function: String,
    /// Its file.
    pub file: Option<String>,
    /// By how much.
    #[serde(flatten)]
    pub difference: Shift,
}

/// A side's runs, by their numbers, each with what one more sample would add.
type Side = BTreeMap<i64, f64>;

/// The amounts of a callsite's runs.
#[derive(Default)]
struct Callsite {
    function: String,
    file: Option<String>,
    runs: BTreeMap<i64, Estimate>,
}

/// Asks it.
///
/// # Errors
/// If a side has no runs, or both have the same; the engine's.
pub async fn ask(engine: &Engine, question: &Question) -> Result<Regressions> {
    let sides = [side(engine, &question.before).await?, side(engine, &question.after).await?];
    for (side, of) in sides.iter().zip([&question.before, &question.after]) {
        ensure!(!side.is_empty(), "there is no run of which '{of}' is true");
    }
    let both = sides[0].keys().filter(|run| sides[1].contains_key(run)).count();
    ensure!(both == 0, "{} are on both sides", counted(both as u64, "run", "runs"));
    let mut callsites: BTreeMap<i64, Callsite> = BTreeMap::new();
    for of in [&question.before, &question.after] {
        take(engine, of, question.metric, &mut callsites).await?;
    }
    let total = callsites.values().fold(BTreeMap::new(), |mut total, callsite| {
        for (run, estimate) in &callsite.runs {
            *total.entry(*run).or_insert_with(Estimate::default) += estimate;
        }
        total
    });
    let total = compared(&total, &sides);
    callsites.retain(|_, callsite| matters(callsite, &sides, total.as_ref()));
    Ok(answer(question, &sides, total, callsites))
}

fn matters(callsite: &Callsite, sides: &[Side; 2], total: Option<&(Difference, Interval)>) -> bool {
    let Some((total, _)) = total else { return false };
    let mean = |side: &Side| {
        let of_side = callsite.runs.iter().filter(|(run, _)| side.contains_key(run));
        of_side.map(|(_, it)| it.value).sum::<f64>() / side.len() as f64
    };
    mean(&sides[0]) >= MATTERS * total.before || mean(&sides[1]) >= MATTERS * total.after
}

fn answer(
    question: &Question,
    sides: &[Side; 2],
    total: Option<(Difference, Interval)>,
    callsites: BTreeMap<i64, Callsite>,
) -> Regressions {
    let compared = callsites.into_iter().filter_map(|(number, callsite)| {
        let difference = compared(&callsite.runs, sides)?;
        Some((number, callsite, difference))
    });
    let compared: Vec<_> = compared.collect();
    let p_values: Vec<f64> = compared.iter().map(|(.., (it, _))| it.p_value()).collect();
    let level = LEVEL / compared.len().max(1) as f64;
    let mut detectable: Vec<f64> =
        compared.iter().map(|(.., (it, _))| it.minimum_detectable(level, 0.8)).collect();
    detectable.sort_by(f64::total_cmp);
    let tested = compared.len() as u64;
    let found = compared.into_iter().zip(holm(&p_values)).filter(|(_, p_value)| *p_value <= LEVEL);
    let mut changed: Vec<Changed> = found
        .map(|((callsite, Callsite { function, file, .. }, difference), p_value)| Changed {
            callsite,
            function,
            file,
            difference: told(&difference, p_value),
        })
        .collect();
    let size = |it: &Changed| (it.difference.after - it.difference.before).abs();
    changed.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.callsite.cmp(&b.callsite)));
    Regressions {
        sides: [question.before.to_string(), question.after.to_string()],
        runs: [sides[0].len() as u64, sides[1].len() as u64],
        metric: question.metric,
        total: total.map(|total| told(&total, total.0.p_value())),
        changed,
        tested,
        detectable: detectable.get(detectable.len() / 2).copied().filter(|it| it.is_finite()),
    }
}

fn told((difference, interval): &(Difference, Interval), p_value: f64) -> Shift {
    let change95 = [interval.low, interval.high];
    Shift { before: difference.before, after: difference.after, change95, p_value }
}

/// Runs that have nothing of it count as well.
fn compared(
    amounts: &BTreeMap<i64, Estimate>,
    sides: &[Side; 2],
) -> Option<(Difference, Interval)> {
    let runs = sides.each_ref().map(|side| {
        let run = |(run, grain): (&i64, &f64)| Run {
            estimate: amounts.get(run).copied().unwrap_or_default(),
            grain: *grain,
        };
        side.iter().map(run).collect::<Vec<_>>()
    });
    let difference = Difference::of(&runs[0], &runs[1])?;
    Some((difference, Change::of(&runs[0], &runs[1])?.interval()))
}

pub(super) fn side_query(of: &Selection) -> String {
    format!("SELECT run, interval_bytes FROM runs WHERE {} AND duration_us > 0", of.sql())
}

async fn side(engine: &Engine, of: &Selection) -> Result<Side> {
    let batches = widened(engine.ask(&side_query(of)).await?)?;
    each(&batches).map(|row| Ok((row.whole("run")?, row.number("interval_bytes")?))).collect()
}

pub(super) fn query(of: &Selection, metric: Metric) -> String {
    let [value, variance] = metric.columns();
    format!(
        "WITH each_run AS (
            SELECT p.callsite AS callsite, t.run AS run, sum({value}) AS value, sum({variance}) AS variance
            FROM {} AS t JOIN runs AS r ON r.run = t.run JOIN places AS p ON p.site = t.site
            WHERE r.duration_us > 0 GROUP BY p.callsite, t.run
        )
        SELECT e.callsite AS callsite, run, function, file, value, variance
        FROM each_run AS e JOIN callsites AS c ON c.callsite = e.callsite",
        totals(&of.sql()),
    )
}

async fn take(
    engine: &Engine,
    of: &Selection,
    metric: Metric,
    callsites: &mut BTreeMap<i64, Callsite>,
) -> Result<()> {
    let batches = widened(engine.ask(&query(of, metric)).await?)?;
    for row in each(&batches) {
        let callsite = callsites.entry(row.whole("callsite")?).or_default();
        callsite.function = row.text("function")?.unwrap_or_default();
        callsite.file = row.text("file")?;
        let estimate = Estimate::new(row.number("value")?, row.number("variance")?);
        callsite.runs.insert(row.whole("run")?, estimate);
    }
    Ok(())
}

impl Shift {
    /// The change with its sign; where it may be none, the ends of its interval.
    fn change(&self) -> String {
        let sign = |value: f64| if value < 0.0 { "−" } else { "+" };
        let [low, high] = self.change95;
        if low < 0.0 && high > 0.0 {
            let end = |it: f64| format!("{}{}", sign(it), lifetrace_human::bytes(it.abs()));
            return format!("{} to {}", end(low), end(high));
        }
        let value = self.after - self.before;
        let variance = ((high - low) / 2.0 / 1.96).powi(2);
        let size = Estimate { value: value.abs(), variance, uncertain: 0.0 };
        format!("{}{}", sign(value), lifetrace_human::estimate(&size))
    }
}

impl Regressions {
    /// For people.
    pub fn page(&self) -> Page {
        let row = |it: &Shift, name: String| {
            vec![
                lifetrace_human::bytes(it.before),
                lifetrace_human::bytes(it.after),
                it.change(),
                format!("{:.1e}", it.p_value),
                name,
            ]
        };
        let mut rows: Vec<_> = self.total.iter().map(|it| row(it, "(all)".to_owned())).collect();
        rows.extend(
            self.changed
                .iter()
                .map(|it| row(&it.difference, place(&it.function, it.file.as_deref()))),
        );
        let [before, after] = &self.sides;
        let mut notes = vec![format!(
            "{} looked at; of any that has not changed, one in twenty answers shows one here at most.",
            counted(self.tested, "callsite was", "callsites were")
        )];
        notes.extend(self.detectable.map(|bytes| {
            format!(
                "Of half of them a change of {} would have been seen with a probability of 80 %.",
                lifetrace_human::bytes(bytes)
            )
        }));
        if self.runs.contains(&1) {
            notes.push(
                "One run a side says nothing of how much runs differ by themselves.".to_owned(),
            );
        }
        Page {
            heading: format!(
                "{} changed: bytes {} of a mean run, {} ({before}) and {} ({after})",
                counted(self.changed.len() as u64, "callsite has", "callsites have"),
                self.metric.name(),
                counted(self.runs[0], "run", "runs"),
                self.runs[1],
            ),
            columns: vec![
                ("before", true),
                ("after", true),
                ("change", true),
                ("p", true),
                ("callsite", false),
            ],
            rows,
            notes,
        }
    }
}
