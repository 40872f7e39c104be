//! Which runs differ from the others of their service, version and program, and by what.
//!
//! Processes of one kind differ by factors rather than by bytes, so logarithms of amounts are compared: a run's with the
//! median of its group, in units of their deviation. That is 1.4826 times the median absolute deviation, which outliers do
//! not move (Hampel, 1974), or the error of the run's own estimate, whichever is larger. So measured a deviation is only known
//! as well as one of 0.37 times as many runs would be (Rousseeuw and Croux, 1993): by so many degrees of freedom the
//! probability is Student's. All runs are looked at, so they are corrected for each other (Holm).

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use lifetrace_analysis::statistics::correction::holm;
use lifetrace_analysis::statistics::distribution::two_sided_p;
use lifetrace_human::counted;
use serde::Serialize;

use super::metric::{Metric, totals};
use super::page::{Page, place};
use super::rows::{each, widened};
use super::selection::{Selection, quoted};
use crate::engine::Engine;

/// What is less probable is no chance.
const LEVEL: f64 = 0.05;

/// Of fewer runs nobody knows how much they differ.
const FEWEST: usize = 8;

/// From a median absolute deviation to a standard deviation.
const TO_DEVIATION: f64 = 1.4826;

/// How well it is known, beside a standard deviation of as many values.
const EFFICIENCY: f64 = 0.37;

/// So many callsites of an outlier are told.
const CALLSITES: usize = 3;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// Of which runs.
    pub of: Selection,
    /// By what.
    pub metric: Metric,
    /// So many at most.
    pub limit: usize,
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Outliers {
    /// Of which runs.
    pub of: String,
    /// By what they were compared.
    pub metric: Metric,
    /// How many were compared.
    pub compared: u64,
    /// Those of groups that are too small.
    pub not_compared: u64,
    /// Those that differ, the most striking first.
    pub outliers: Vec<Outlier>,
}

/// A run that differs.
#[derive(Clone, Debug, Serialize)]
pub struct Outlier {
    /// Its number.
    pub run: i64,
    /// Its service.
    pub service: String,
    /// Its label `version`.
    pub version: Option<String>,
    /// Its program.
    pub executable: String,
    /// Where it ran.
    pub host: String,
    /// Its process.
    pub pid: i64,
    /// The name of its trace.
    pub trace: String,
    /// Its bytes.
    pub bytes: f64,
    /// The median of its group.
    pub median: f64,
    /// How probable so great a difference is by chance, corrected for the number of runs.
    pub p_value: f64,
    /// Where it differs most, in bytes.
    pub callsites: Vec<Callsite>,
}

/// A callsite of an outlier.
#[derive(Clone, Debug, Serialize)]
pub struct Callsite {
    /// As in the table of sites.
    pub callsite: i64,
    /// Its function.
    pub function: String,
    /// Its file.
    pub file: Option<String>,
    /// Its bytes in this run.
    pub bytes: f64,
    /// The mean of the other runs of the group.
    pub others: f64,
}

/// A run's service, version and program: a service may have processes of several kinds.
type Group = (String, Option<String>, String);

impl Outlier {
    fn group(&self) -> Group {
        (self.service.clone(), self.version.clone(), self.executable.clone())
    }
}

/// A run, before it is known how probable it is.
#[derive(Clone, Debug)]
struct Run {
    told: Outlier,
    variance: f64,
}

/// Asks it.
///
/// # Errors
/// The engine's.
pub async fn ask(engine: &Engine, question: &Question) -> Result<Outliers> {
    let Question { of, metric, limit } = question;
    let mut groups: BTreeMap<Group, Vec<Run>> = BTreeMap::new();
    for run in runs(engine, of, *metric).await? {
        groups.entry(run.told.group()).or_default().push(run);
    }
    let sum = |of: &dyn Fn(usize) -> bool| {
        groups.values().map(Vec::len).filter(|&runs| of(runs)).sum::<usize>() as u64
    };
    let (compared, not_compared) = (sum(&|it| it >= FEWEST), sum(&|it| it < FEWEST));
    let mut outliers = judged(groups);
    outliers.truncate(*limit);
    for outlier in &mut outliers {
        outlier.callsites = callsites(engine, of, *metric, outlier).await?;
    }
    Ok(Outliers { of: of.to_string(), metric: *metric, compared, not_compared, outliers })
}

/// The amounts of all runs.
pub(super) fn query(of: &Selection, metric: Metric) -> String {
    let [value, variance] = metric.columns();
    let of = of.sql();
    format!(
        "WITH chosen AS (SELECT * FROM runs WHERE {of} AND duration_us > 0),
        sums AS (
            SELECT t.run AS run, sum({value}) AS value, sum({variance}) AS variance
            FROM {totals} AS t JOIN chosen AS r ON r.run = t.run GROUP BY t.run
        )
        SELECT r.run AS run, r.service AS service, r.version AS version,
            r.executable AS executable, r.host AS host, r.pid AS pid, r.trace AS trace,
            coalesce(s.value, 0.0) AS value, coalesce(s.variance, 0.0) AS variance
        FROM chosen AS r LEFT JOIN sums AS s ON s.run = r.run",
        totals = totals(&of),
    )
}

async fn runs(engine: &Engine, of: &Selection, metric: Metric) -> Result<Vec<Run>> {
    let batches = widened(engine.ask(&query(of, metric)).await?)?;
    let runs = each(&batches).map(|row| {
        let told = Outlier {
            run: row.whole("run")?,
            service: row.text("service")?.unwrap_or_default(),
            version: row.text("version")?,
            executable: row.text("executable")?.unwrap_or_default(),
            host: row.text("host")?.unwrap_or_default(),
            pid: row.whole("pid")?,
            trace: row.text("trace")?.unwrap_or_default(),
            bytes: row.number("value")?,
            median: 0.0,
            p_value: 1.0,
            callsites: Vec::new(),
        };
        Ok(Run { told, variance: row.number("variance")? })
    });
    runs.collect()
}

fn judged(groups: BTreeMap<Group, Vec<Run>>) -> Vec<Outlier> {
    let groups = groups.into_values().filter(|runs| runs.len() >= FEWEST);
    let mut all: Vec<Outlier> = groups.flat_map(compared).collect();
    let corrected = holm(&all.iter().map(|it| it.p_value).collect::<Vec<_>>());
    all.iter_mut().zip(corrected).for_each(|(it, p_value)| it.p_value = p_value);
    all.retain(|it| it.p_value <= LEVEL);
    all.sort_by(|a, b| a.p_value.total_cmp(&b.p_value).then(a.run.cmp(&b.run)));
    all
}

/// The runs of a group, each with how probable it is.
fn compared(runs: Vec<Run>) -> Vec<Outlier> {
    let median_bytes = median(runs.iter().map(|it| it.told.bytes).collect());
    // A run that has nothing is as far as one that has a thousandth.
    let least = (median_bytes / 1e3).max(1.0);
    let log = |run: &Run| run.told.bytes.max(least).ln();
    let center = median(runs.iter().map(log).collect());
    let deviation =
        TO_DEVIATION * median(runs.iter().map(|run| (log(run) - center).abs()).collect());
    let freedom = (EFFICIENCY * (runs.len() - 1) as f64).max(1.0);
    let judge = |run: Run| {
        let error = run.variance.sqrt() / run.told.bytes.max(least);
        let statistic = (log(&run) - center) / deviation.max(error).max(f64::MIN_POSITIVE);
        let p_value = two_sided_p(statistic, freedom);
        Outlier { median: median_bytes, p_value, ..run.told }
    };
    runs.into_iter().map(judge).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => 0.0,
        0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

/// The group's callsites in which a run differs most from the mean of the others.
fn callsites_query(of: &Selection, metric: Metric, outlier: &Outlier) -> String {
    let [value, _] = metric.columns();
    let (run, service) = (outlier.run, quoted(&outlier.service));
    let version = match &outlier.version {
        Some(version) => format!("version = {}", quoted(version)),
        None => "version IS NULL".to_owned(),
    };
    let executable = quoted(&outlier.executable);
    let of = format!("{} AND service = {service}", of.sql());
    format!(
        "WITH chosen AS (SELECT run, duration_us FROM runs WHERE {of} AND {version}
            AND executable = {executable} AND duration_us > 0),
        each_callsite AS (
            SELECT p.callsite AS callsite,
                sum(CASE WHEN t.run = {run} THEN {value} ELSE 0 END) AS value,
                sum(CASE WHEN t.run = {run} THEN 0 ELSE {value} END)
                    / ((SELECT count(*) FROM chosen) - 1) AS others
            FROM {totals} AS t JOIN chosen AS r ON r.run = t.run JOIN places AS p ON p.site = t.site
            GROUP BY p.callsite
        )
        SELECT e.callsite AS callsite, function, file, value, others
        FROM each_callsite AS e JOIN callsites AS c ON c.callsite = e.callsite
        ORDER BY abs(value - others) DESC, e.callsite LIMIT {CALLSITES}",
        totals = totals(&of),
    )
}

async fn callsites(
    engine: &Engine,
    of: &Selection,
    metric: Metric,
    outlier: &Outlier,
) -> Result<Vec<Callsite>> {
    let batches = widened(engine.ask(&callsites_query(of, metric, outlier)).await?)?;
    let callsites = each(&batches).map(|row| {
        Ok(Callsite {
            callsite: row.whole("callsite")?,
            function: row.text("function")?.unwrap_or_default(),
            file: row.text("file")?,
            bytes: row.number("value")?,
            others: row.number("others")?,
        })
    });
    callsites.collect()
}

impl Outliers {
    /// For people.
    pub fn page(&self) -> Page {
        let rows = self.outliers.iter().flat_map(|it| {
            let version = it.version.as_deref().unwrap_or_default();
            let program = Path::new(&it.executable).file_name().unwrap_or_default().display();
            let of = format!("{} {version}", it.service);
            let process = format!("{}: {program}, pid {} on {}", of.trim_end(), it.pid, it.host);
            let head = vec![
                lifetrace_human::bytes(it.bytes),
                lifetrace_human::bytes(it.median),
                format!("{:.1e}", it.p_value),
                format!("{process} ({})", it.trace),
            ];
            let places = it.callsites.iter().map(|at| {
                vec![
                    lifetrace_human::bytes(at.bytes),
                    lifetrace_human::bytes(at.others),
                    String::new(),
                    format!("  {}", place(&at.function, at.file.as_deref())),
                ]
            });
            std::iter::once(head).chain(places).collect::<Vec<_>>()
        });
        let mut notes = vec![
            "Each run is compared with the median of its service, version and program; below it are the callsites that make the \
             difference, beside the mean of the other runs. Of twenty answers to fleets whose runs are alike one shows a \
             run here."
                .to_owned(),
        ];
        if self.not_compared > 0 {
            notes.push(format!(
                "{} of services, versions and programs with fewer than {FEWEST} runs, and could not be compared.",
                counted(self.not_compared, "run is", "runs are")
            ));
        }
        Page {
            heading: format!(
                "{} from the others: bytes {}, {} compared ({})",
                counted(self.outliers.len() as u64, "run differs", "runs differ"),
                self.metric.name(),
                counted(self.compared, "run", "runs"),
                self.of
            ),
            columns: vec![("bytes", true), ("usual", true), ("p", true), ("run", false)],
            rows: rows.collect(),
            notes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: i64, bytes: f64, variance: f64) -> Run {
        let told = Outlier {
            run: number,
            service: "web".to_owned(),
            version: None,
            executable: String::new(),
            host: String::new(),
            pid: number,
            trace: String::new(),
            bytes,
            median: 0.0,
            p_value: 1.0,
            callsites: Vec::new(),
        };
        Run { told, variance }
    }

    fn found(runs: Vec<Run>) -> Vec<i64> {
        let groups = BTreeMap::from([(("web".to_owned(), None, String::new()), runs)]);
        judged(groups).iter().map(|it| it.run).collect()
    }

    /// About as much as each other: from 90 to 110.
    fn alike(count: i64) -> Vec<Run> {
        (0..count).map(|at| run(at, 90.0 + (at * 7 % 21) as f64, 1.0)).collect()
    }

    #[test]
    fn one_that_differs_is_found() {
        assert_eq!(found(alike(40)), [0i64; 0]);
        for bytes in [1000.0, 5.0, 0.0] {
            let runs = alike(40).into_iter().chain([run(99, bytes, 1.0)]).collect();
            assert_eq!(found(runs), [99], "{bytes}");
        }
        // What is estimated so badly may be anything.
        let runs = alike(40).into_iter().chain([run(99, 300.0, 200.0 * 200.0)]).collect();
        assert_eq!(found(runs), [0i64; 0]);
        // Too few to know.
        assert_eq!(found(alike(6).into_iter().chain([run(99, 1e6, 1.0)]).collect()), [0i64; 0]);
    }

    #[test]
    fn runs_that_are_alike_are_rarely_told_apart() {
        let mut random = fastrand::Rng::with_seed(5);
        let normal = |random: &mut fastrand::Rng| {
            let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
            radius * (std::f64::consts::TAU * random.f64()).cos()
        };
        for runs in [8, 20, 100] {
            let fleets = 400;
            let with = (0..fleets).filter(|_| {
                let run = |at| run(at, (10.0 + 0.3 * normal(&mut random)).exp(), 1.0);
                !found((0..runs).map(run).collect()).is_empty()
            });
            // 5 %, and five standard deviations of what is counted.
            let (with, error) = (with.count() as f64, (fleets as f64 * 0.05 * 0.95).sqrt());
            assert!(with <= fleets as f64 * 0.05 + 5.0 * error, "{runs}: {with}");
        }
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!((median(vec![4.0, 1.0]), median(vec![])), (2.5, 0.0));
    }
}
