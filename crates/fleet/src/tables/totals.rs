//! What each backtrace of a run amounts to: what questions to many runs read, instead of each sample.

use std::sync::Arc;

use anyhow::Result;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::record_batch::RecordBatch;

use super::samples::Sample;
use super::sums::{self, Sums};
use super::{Partition, Table, column, required};

/// The samples of one sampler, one backtrace and one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Total {
    /// Which run.
    pub run: i64,
    /// Which backtrace.
    pub site: i64,
    /// Which sampler.
    pub source: Arc<str>,
    /// All of them.
    pub sums: Sums,
    /// The bytes of those that live at the end.
    pub live_bytes: f64,
    /// The variance of that.
    pub live_variance: f64,
}

/// Rows of the table.
pub type Totals = Vec<Total>;

pub(super) fn columns() -> Vec<Field> {
    let mut columns = vec![
        required("run", DataType::Int64),
        required("site", DataType::Int64),
        required("source", DataType::Utf8),
    ];
    columns.extend(sums::columns());
    columns.push(required("live_bytes", DataType::Float64));
    columns.push(required("live_variance", DataType::Float64));
    columns
}

/// Of the samples of a run that was so long; those of a backtrace stand together.
pub fn of(samples: &[Sample], duration_us: i64) -> Totals {
    let each_site = samples.chunk_by(|a, b| a.site == b.site);
    each_site.flat_map(|samples| of_site(samples, duration_us)).collect()
}

fn of_site(samples: &[Sample], duration_us: i64) -> Totals {
    let mut totals: Totals = Vec::with_capacity(1);
    for sample in samples {
        let at = totals.iter().position(|total| total.source == sample.source);
        let at = at.unwrap_or_else(|| {
            totals.push(Total::new(sample));
            totals.len() - 1
        });
        totals[at].add(sample, duration_us);
    }
    totals
}

impl Total {
    fn new(of: &Sample) -> Total {
        Total {
            run: of.run,
            site: of.site,
            source: of.source.clone(),
            sums: Sums::default(),
            live_bytes: 0.0,
            live_variance: 0.0,
        }
    }

    fn add(&mut self, sample: &Sample, duration_us: i64) {
        self.sums.add(sample, duration_us);
        if sample.lifetime_us.is_none() {
            let bytes = sample.bytes as f64;
            self.live_bytes += sample.weight * bytes;
            self.live_variance += sample.variance() * bytes * bytes;
        }
    }
}

/// As Arrow has them, in the order in which they are given.
///
/// # Errors
/// Never, unless columns and schema differ.
pub fn batch(of: &Partition, rows: &[Total]) -> Result<RecordBatch> {
    let mut columns = vec![
        column::int64(rows.iter().map(|it| it.run).collect()),
        column::int64(rows.iter().map(|it| it.site).collect()),
        column::text(&rows.iter().map(|it| &*it.source).collect::<Vec<_>>()),
    ];
    columns.extend(sums::arrays(rows.iter().map(|it| &it.sums)));
    columns.push(column::float(rows.iter().map(|it| it.live_bytes).collect()));
    columns.push(column::float(rows.iter().map(|it| it.live_variance).collect()));
    Ok(Table::Totals.batch(of, rows.len(), columns)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(site: i64, source: &str, lifetime_us: Option<i64>) -> Sample {
        Sample {
            run: 1,
            site,
            birth_us: 1_000_000,
            lifetime_us,
            bytes: 100,
            weight: 3.0,
            is_growth: false,
            is_promoted: false,
            thread: 0,
            source: source.into(),
            heap: None,
        }
    }

    #[test]
    fn each_sampler_of_a_backtrace_has_its_own() {
        let samples = [
            (7, "malloc", Some(500_000)),
            (7, "mmap", None),
            (7, "malloc", None),
            (8, "malloc", None),
        ];
        let samples = samples.map(|(site, source, lifetime)| sample(site, source, lifetime));
        let totals = of(&samples, 3_000_000);
        let told: Vec<_> = totals
            .iter()
            .map(|it| (it.site, &*it.source, it.sums.samples, it.sums.byte_seconds, it.live_bytes))
            .collect();
        let expected = [
            (7, "malloc", 2, 300.0 * 0.5 + 300.0 * 2.0, 300.0),
            (7, "mmap", 1, 600.0, 300.0),
            (8, "malloc", 1, 600.0, 300.0),
        ];
        assert_eq!(told, expected);
        assert_eq!(totals[0].sums.bytes_variance, 2.0 * 6.0 * 1e4);
        assert_eq!(totals[0].live_variance, 6.0 * 1e4);
    }
}
