//! Which runs there are.

use anyhow::Result;
use lifetrace_human::counted;
use serde::Serialize;

use super::page::Page;
use super::rows::{each, widened};
use super::selection::Selection;
use crate::engine::Engine;

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Runs {
    /// Groups of runs that began on one day, of one service in one version, the latest first.
    pub groups: Vec<Group>,
    /// How many runs there are.
    pub runs: u64,
    /// How many samples they have.
    pub samples: u64,
}

/// Some runs.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The day on which they began.
    pub date: String,
    /// Their service.
    pub service: String,
    /// The label `version`.
    pub version: Option<String>,
    /// How many they are.
    pub runs: u64,
    /// On how many machines.
    pub hosts: u64,
    /// How long they ran together.
    pub hours: f64,
    /// Their samples.
    pub samples: u64,
    /// Events that were not recorded.
    pub lost: u64,
    /// How many have not been read to an end that their recorder has written.
    pub not_whole: u64,
}

/// Asks for it.
///
/// # Errors
/// The engine's.
pub async fn ask(engine: &Engine, of: &Selection) -> Result<Runs> {
    let batches = widened(engine.ask(&query(of)).await?)?;
    let groups = each(&batches).map(|row| {
        Ok(Group {
            date: row.text("day")?.unwrap_or_default(),
            service: row.text("service")?.unwrap_or_default(),
            version: row.text("version")?,
            runs: row.whole("runs")? as u64,
            hosts: row.whole("hosts")? as u64,
            hours: row.number("hours")?,
            samples: row.whole("samples")? as u64,
            lost: row.whole("lost")? as u64,
            not_whole: row.whole("not_whole")? as u64,
        })
    });
    let groups = groups.collect::<Result<Vec<Group>>>()?;
    let sum = |of: fn(&Group) -> u64| groups.iter().map(of).sum();
    Ok(Runs { runs: sum(|it| it.runs), samples: sum(|it| it.samples), groups })
}

pub(super) fn query(of: &Selection) -> String {
    format!(
        "SELECT CAST(date AS VARCHAR) AS day, service, version, count(*) AS runs,
            count(DISTINCT host) AS hosts, sum(duration_us) / 3600000000.0 AS hours,
            sum(samples) AS samples, sum(lost) AS lost,
            sum(CASE WHEN is_whole THEN 0 ELSE 1 END) AS not_whole
        FROM runs WHERE {} GROUP BY date, service, version ORDER BY 1 DESC, 2, 3",
        of.sql()
    )
}

impl Runs {
    /// For people.
    pub fn page(&self) -> Page {
        let rows = self.groups.iter().map(|it| {
            let number = |value: u64| lifetrace_human::count(value as f64);
            vec![
                it.date.clone(),
                it.service.clone(),
                it.version.clone().unwrap_or_default(),
                number(it.runs),
                number(it.hosts),
                format!("{:.1}", it.hours),
                number(it.samples),
                number(it.lost),
            ]
        });
        let not_whole: u64 = self.groups.iter().map(|it| it.not_whole).sum();
        let note = (not_whole > 0).then(|| {
            format!(
                "{} not whole: their traces were damaged, or not finished.",
                counted(not_whole, "run is", "runs are")
            )
        });
        Page {
            heading: format!(
                "{}, {}",
                counted(self.runs, "run", "runs"),
                counted(self.samples, "sample", "samples")
            ),
            columns: vec![
                ("day", false),
                ("service", false),
                ("version", false),
                ("runs", true),
                ("hosts", true),
                ("hours", true),
                ("samples", true),
                ("lost", true),
            ],
            rows: rows.collect(),
            notes: note.into_iter().collect(),
        }
    }
}
