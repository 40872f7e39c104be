//! Runs that are written together: for each day and service one file a table, and one commit for all.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use datafusion::arrow::record_batch::RecordBatch;
use rustc_hash::FxHashSet;

use super::Intake;
use crate::log::{Change, Entry, State};
use crate::store::Store;
use crate::tables::{self, Labels, Partition, Rollup, Table, growth, runs, samples, sites, totals};

/// Runs that have been gathered.
#[derive(Debug, Default)]
pub struct Batch {
    parts: BTreeMap<Partition, Part>,
    runs: usize,
    samples: usize,
}

#[derive(Debug, Default)]
struct Part {
    runs: tables::Runs,
    labels: Labels,
    samples: tables::Samples,
    sites: tables::Sites,
    known_sites: FxHashSet<i64>,
    totals: tables::Totals,
    rollup: Rollup,
    growth: tables::Growth,
}

impl Batch {
    /// Adds a run.
    pub fn take(&mut self, mut intake: Intake) {
        self.runs += 1;
        self.samples += intake.samples.len();
        let part = self.parts.entry(intake.partition).or_default();
        part.runs.push(intake.run);
        part.labels.rows.append(&mut intake.labels.rows);
        part.samples.append(&mut intake.samples);
        part.totals.append(&mut intake.totals);
        part.rollup.join(intake.rollup);
        part.growth.append(&mut intake.growth);
        let known = &mut part.known_sites;
        part.sites.extend(intake.sites.into_iter().filter(|site| known.insert(site.site)));
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// How many samples there are.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Writes the files, and commits them.
    ///
    /// # Errors
    /// If they cannot be written; then nothing is in the dataset.
    pub async fn write(self, store: &Store) -> Result<State> {
        let mut add = Vec::new();
        for (partition, part) in self.parts {
            let runs: Vec<i64> = part.runs.iter().map(|run| run.run).collect();
            for (table, rows) in part.rows(&partition)? {
                let entry = put(store, table, &partition, &[rows]).await?;
                let runs = if table == Table::Runs { runs.clone() } else { Vec::new() };
                add.push(Entry { runs, ..entry });
            }
        }
        State::commit(store, |state| {
            let known = state.runs();
            let is_known = |entry: &Entry| entry.runs.iter().any(|run| known.contains(run));
            let is_twice = add.iter().any(is_known);
            ensure!(
                !is_twice,
                "somebody else adds the same traces; what is new of these is not added"
            );
            Ok(Change { add: add.clone(), remove: Vec::new() })
        })
        .await
    }
}

impl Part {
    fn rows(mut self, of: &Partition) -> Result<Vec<(Table, RecordBatch)>> {
        self.runs.sort_by_key(|run| run.start);
        self.sites.sort_by_key(|site| site.site);
        self.samples.sort_by_key(|it| (it.run, it.site, it.birth_us));
        self.totals.sort_by_key(|it| (it.site, it.run));
        self.growth.sort_by_key(|row| (row.callsite, row.run));
        let tables = vec![
            (Table::Runs, runs::batch(of, &self.runs)?),
            (Table::Labels, self.labels.batch(of)?),
            (Table::Samples, samples::batch(of, &self.samples)?),
            (Table::Sites, sites::batch(of, &self.sites)?),
            (Table::Totals, totals::batch(of, &self.totals)?),
            (Table::Rollup, self.rollup.batch(of)?),
            (Table::Growth, growth::batch(of, &self.growth)?),
        ];
        Ok(tables.into_iter().filter(|(_, rows)| rows.num_rows() > 0).collect())
    }
}

/// Writes a file, which is not in the dataset before it is committed.
///
/// # Errors
/// If it cannot be written.
pub async fn put(
    store: &Store,
    table: Table,
    of: &Partition,
    rows: &[RecordBatch],
) -> Result<Entry> {
    let bytes = tables::parquet(table, rows)?;
    let length = bytes.len() as u64;
    let (date, service) = (of.day(), of.service.to_string());
    // Its content names it: who writes the same once more writes the same file.
    let name = super::identity::number(&[&bytes]);
    let path = format!("{table}/{date}/{}/{name:016x}.parquet", folder_name(&service));
    store.write(&path, bytes).await?;
    let rows = rows.iter().map(|it| it.num_rows() as u64).sum();
    Ok(Entry { path, table, date, service, rows, bytes: length, runs: Vec::new() })
}

/// A service may be called anything; a folder may not, on any system, and in any store.
fn folder_name(service: &str) -> String {
    let mut name = String::new();
    for byte in service.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(byte.into()),
            b'.' if !name.is_empty() => name.push('.'),
            _ => name.push_str(&format!("~{byte:02x}")),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_have_folders() {
        let names = ["web-1", "../etc", "a/b", "ü", "."].map(folder_name);
        assert_eq!(names, ["web-1", "~2e.~2fetc", "a~2fb", "~c3~bc", "~2e"]);
    }
}
