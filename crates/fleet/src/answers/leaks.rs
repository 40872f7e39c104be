//! Which callsites grow for as long as their processes run, in how many of them, and since which version.
//!
//! Each run has been judged by itself when it was added, as `report --view leaks` does it, which calls at most one in a
//! hundred callsites that are no leak one ([`FALSE_ALARMS`]; `analysis/src/statistics/growth.rs` has the simulations). So a
//! callsite that is no leak is called one in a binomial number of its runs; what is more than chance explains, corrected for
//! all callsites that hold something (Holm), is a leak. How fast it grows is the mean of its runs, with the interval of
//! Student's distribution: processes differ, and that is in it.

use std::collections::BTreeMap;

use anyhow::Result;
use lifetrace_analysis::statistics::correction::holm;
use lifetrace_analysis::statistics::distribution::critical;
use lifetrace_human::counted;
use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};

use super::page::{Page, place};
use super::rows::{each, widened};
use super::selection::Selection;
use crate::engine::Engine;

/// How often a callsite of a run is called a leak that is none, at most.
const FALSE_ALARMS: f64 = 0.01;

/// What is less probable is no chance.
const LEVEL: f64 = 0.05;

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Leaks {
    /// Of which runs.
    pub of: String,
    /// How many these are.
    pub runs: u64,
    /// How many of them are long enough to be judged, and hold something.
    pub judged: u64,
    /// Callsites that leak, what grows fastest in all runs together first.
    pub leaks: Vec<Leak>,
    /// How many callsites hold something at the end.
    pub callsites: u64,
}

/// A callsite that leaks.
#[derive(Clone, Debug, Serialize)]
pub struct Leak {
    /// As in the table of sites.
    pub callsite: i64,
    /// Its function.
    pub function: String,
    /// Its file.
    pub file: Option<String>,
    /// In so many runs it is called a leak,
    pub leaking: u64,
    /// of so many in which it holds something.
    pub runs: u64,
    /// Mean growth of these, in bytes per hour and run.
    pub bytes_per_hour: f64,
    /// The 95 % interval of that: how another run may be expected to grow on average.
    pub interval95: Option<[f64; 2]>,
    /// Bytes that it holds in all runs together.
    pub live_bytes: f64,
    /// How probable so many alarms are if it does not leak, corrected for the number of callsites.
    pub p_value: f64,
    /// The first version in which it leaks, if runs have versions: in those that began before, it does not.
    pub since: Option<String>,
}

/// A callsite in the runs of one version.
#[derive(Clone, Debug)]
struct Part {
    version: Option<String>,
    first: i64,
    leaking: u64,
    runs: u64,
    sum: f64,
    squares: f64,
    live: f64,
}

/// Asks for it.
///
/// # Errors
/// The engine's.
pub async fn ask(engine: &Engine, of: &Selection, limit: usize) -> Result<Leaks> {
    let batches = widened(engine.ask(&query(of)).await?)?;
    let mut parts: BTreeMap<i64, Vec<Part>> = BTreeMap::new();
    for row in each(&batches) {
        parts.entry(row.whole("callsite")?).or_default().push(Part {
            version: row.text("version")?,
            first: row.whole("first")?,
            leaking: row.whole("leaking")? as u64,
            runs: row.whole("runs")? as u64,
            sum: row.number("growth")?,
            squares: row.number("squares")?,
            live: row.number("live")?,
        });
    }
    let mut leaks = judged(&parts);
    leaks.truncate(limit);
    name(engine, &mut leaks).await?;
    let [runs, judged] = numbers(engine, of).await?;
    Ok(Leaks { of: of.to_string(), runs, judged, leaks, callsites: parts.len() as u64 })
}

pub(super) fn query(of: &Selection) -> String {
    format!(
        "SELECT g.callsite AS callsite, r.version AS version,
            min(r.start) AS first, count(*) AS runs,
            sum(CASE WHEN g.kind = 'leak' THEN 1 ELSE 0 END) AS leaking,
            sum(g.bytes_per_hour) AS growth, sum(g.bytes_per_hour * g.bytes_per_hour) AS squares,
            sum(g.live_bytes) AS live
        FROM growth AS g JOIN (SELECT run, version, start FROM runs WHERE {}) AS r ON r.run = g.run
        WHERE g.bytes_per_hour IS NOT NULL GROUP BY g.callsite, r.version",
        of.sql()
    )
}

fn judged(callsites: &BTreeMap<i64, Vec<Part>>) -> Vec<Leak> {
    let sums = callsites.values().map(|parts| {
        let sum = |of: fn(&Part) -> u64| parts.iter().map(of).sum::<u64>();
        (sum(|it| it.leaking), sum(|it| it.runs))
    });
    let p_values: Vec<f64> = sums.map(|(leaking, runs)| by_chance(leaking, runs)).collect();
    let corrected = holm(&p_values);
    let found = callsites.iter().zip(corrected).filter(|(_, p_value)| *p_value <= LEVEL);
    let mut leaks: Vec<Leak> =
        found.map(|((callsite, parts), p_value)| Leak::new(*callsite, parts, p_value)).collect();
    let together = |leak: &Leak| leak.bytes_per_hour * leak.runs as f64;
    leaks.sort_by(|a, b| together(b).total_cmp(&together(a)).then(a.callsite.cmp(&b.callsite)));
    leaks
}

/// How probable it is that so many of the runs, or more, are called leaking.
fn by_chance(leaking: u64, runs: u64) -> f64 {
    match leaking {
        0 => 1.0,
        _ => Binomial::new(FALSE_ALARMS, runs).map_or(1.0, |binomial| binomial.sf(leaking - 1)),
    }
}

impl Leak {
    fn new(callsite: i64, parts: &[Part], p_value: f64) -> Leak {
        let sum = |of: fn(&Part) -> f64| parts.iter().map(of).sum::<f64>();
        let count = |of: fn(&Part) -> u64| parts.iter().map(of).sum::<u64>();
        // Where it is not there yet, or not any more, it does not grow.
        let with: Vec<&Part> = parts.iter().filter(|part| leaks(part)).collect();
        let counted = if with.is_empty() { parts.iter().collect() } else { with };
        let runs = counted.iter().map(|it| it.runs).sum::<u64>() as f64;
        let mean = counted.iter().map(|it| it.sum).sum::<f64>() / runs;
        let squares = counted.iter().map(|it| it.squares).sum::<f64>() / runs - mean * mean;
        let deviation = (squares.max(0.0) / (runs - 1.0)).sqrt();
        let half = critical(0.95, runs - 1.0) * deviation;
        Leak {
            callsite,
            function: String::new(),
            file: None,
            leaking: count(|it| it.leaking),
            runs: count(|it| it.runs),
            bytes_per_hour: mean,
            interval95: (runs > 1.0 && half.is_finite()).then_some([mean - half, mean + half]),
            live_bytes: sum(|it| it.live),
            p_value,
            since: since(parts),
        }
    }
}

fn leaks(part: &Part) -> bool {
    by_chance(part.leaking, part.runs) <= LEVEL
}

/// The version that came first of those in which it leaks, if there are earlier ones, and in none of these it does.
fn since(parts: &[Part]) -> Option<String> {
    let mut versions: Vec<&Part> = parts.iter().filter(|part| part.version.is_some()).collect();
    versions.sort_by_key(|part| part.first);
    let at = versions.iter().position(|part| leaks(part))?;
    (at > 0).then(|| versions[at].version.clone())?
}

async fn name(engine: &Engine, leaks: &mut [Leak]) -> Result<()> {
    if leaks.is_empty() {
        return Ok(());
    }
    let numbers: Vec<_> = leaks.iter().map(|leak| leak.callsite.to_string()).collect();
    let query = format!(
        "SELECT callsite, function, file FROM callsites WHERE callsite IN ({})",
        numbers.join(", ")
    );
    let batches = widened(engine.ask(&query).await?)?;
    for row in each(&batches) {
        let callsite = row.whole("callsite")?;
        for leak in leaks.iter_mut().filter(|leak| leak.callsite == callsite) {
            leak.function = row.text("function")?.unwrap_or_default();
            leak.file = row.text("file")?;
        }
    }
    Ok(())
}

pub(super) fn numbers_query(of: &Selection) -> String {
    format!(
        "SELECT count(*) AS runs, count(g.judged) AS judged
        FROM runs LEFT JOIN
            (SELECT DISTINCT run AS judged FROM growth WHERE bytes_per_hour IS NOT NULL) AS g
            ON g.judged = runs.run
        WHERE {}",
        of.sql()
    )
}

async fn numbers(engine: &Engine, of: &Selection) -> Result<[u64; 2]> {
    let batches = widened(engine.ask(&numbers_query(of)).await?)?;
    let row = each(&batches).next();
    row.map_or(Ok([0; 2]), |row| Ok([row.whole("runs")? as u64, row.whole("judged")? as u64]))
}

impl Leaks {
    /// For people.
    pub fn page(&self) -> Page {
        let rows = self.leaks.iter().map(|leak| {
            let growth = match leak.interval95 {
                Some([low, high]) => lifetrace_human::per_hour(leak.bytes_per_hour, low, high),
                None => format!("{}/h", lifetrace_human::bytes(leak.bytes_per_hour)),
            };
            vec![
                growth,
                format!("{} of {}", leak.leaking, leak.runs),
                lifetrace_human::bytes(leak.live_bytes),
                leak.since.clone().unwrap_or_default(),
                place(&leak.function, leak.file.as_deref()),
            ]
        });
        let callsites = counted(self.callsites, "callsite", "callsites");
        let found = match self.leaks.len() as u64 {
            0 => format!(
                "None of {callsites} that hold something grows in more runs than chance explains."
            ),
            count => {
                format!("{} of {callsites} that hold something:", counted(count, "leak", "leaks"))
            }
        };
        let judged = counted(self.judged, "run", "runs");
        Page {
            heading: format!("{found}\n{judged} of {} could be judged ({})", self.runs, self.of),
            columns: vec![
                ("growth of a run", true),
                ("runs", true),
                ("held in all", true),
                ("since", false),
                ("callsite", false),
            ],
            rows: rows.collect(),
            notes: vec![format!(
                "'runs': in how many of those that hold something of it, it grew to the end as a leak does. By chance that \
                 is at most one in {}.",
                1.0 / FALSE_ALARMS
            )],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(version: &str, first: i64, leaking: u64, runs: u64) -> Part {
        let version = Some(version.to_owned());
        let sum = 10.0 * runs as f64;
        Part { version, first, leaking, runs, sum, squares: 10.0 * sum + runs as f64, live: 1.0 }
    }

    #[test]
    fn what_chance_explains_is_no_leak() {
        assert_eq!(by_chance(0, 50), 1.0);
        assert!((by_chance(1, 1) - 0.01).abs() < 1e-12);
        assert!((by_chance(2, 2) - 0.0001).abs() < 1e-12);
        let callsites = BTreeMap::from([
            (1, vec![part("1.0", 0, 1, 40)]),
            (2, vec![part("1.0", 0, 0, 20), part("1.1", 5, 15, 20)]),
            (3, vec![part("1.0", 0, 20, 20)]),
        ]);
        let leaks = judged(&callsites);
        let found: Vec<_> = leaks.iter().map(|it| (it.callsite, it.since.as_deref())).collect();
        assert_eq!(found, [(2, Some("1.1")), (3, None)]);
        let [low, high] = leaks[1].interval95.unwrap();
        // Of 20 runs with the mean 10 and the variance 1, 2.093 standard errors of 1 / sqrt(19) each.
        assert!((leaks[1].bytes_per_hour - 10.0).abs() < 1e-9);
        assert!((high - low - 2.0 * 2.093 / 19f64.sqrt()).abs() < 1e-3, "{low} {high}");
    }
}
