//! Many small files become few large ones.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use datafusion::arrow::compute::{
    SortColumn, concat_batches, lexsort_to_indices, take_record_batch,
};
use datafusion::arrow::record_batch::RecordBatch;

use super::{Done, take_away};
use crate::ingest::batch::put;
use crate::log::{Change, Entry, State};
use crate::store::Store;
use crate::tables::{self, Partition, Table};

/// Files that are larger are left alone.
const LARGE: u64 = 64 << 20;

/// Makes one file of those of a table, a day and a service, as long as they are small, and there are several.
///
/// # Errors
/// If the dataset cannot be read or changed. Then it is as it was, or a part of it has been compacted.
pub async fn compact(store: &Store) -> Result<Done> {
    let state = State::read(store).await?;
    let mut groups: BTreeMap<(Table, &str, &str), Vec<&Entry>> = BTreeMap::new();
    for entry in state.all().filter(|entry| entry.bytes < LARGE) {
        groups.entry((entry.table, &entry.date, &entry.service)).or_default().push(entry);
    }
    let mut done = Done::default();
    for entries in groups.into_values().filter(|entries| entries.len() > 1) {
        let one = merge(store, &entries).await?;
        replace(store, &entries, &one).await?;
        done.removed += entries.len();
        done.written += 1;
        done.bytes += entries.iter().map(|it| it.bytes as i64).sum::<i64>() - one.bytes as i64;
    }
    Ok(done)
}

async fn merge(store: &Store, entries: &[&Entry]) -> Result<Entry> {
    let first = entries.first().context("there are several")?;
    let mut batches = Vec::new();
    for entry in entries {
        let gone = || format!("{}: it is gone", store.url(&entry.path));
        let bytes = store.read(&entry.path).await?.with_context(gone)?;
        batches.extend(tables::read(bytes).with_context(|| store.url(&entry.path))?);
    }
    let rows = in_order(first.table, &batches)?;
    let rows = if first.table == Table::Sites { each_once(&rows)? } else { rows };
    let of = Partition::of(&rows)?;
    let written = put(store, first.table, &of, &[rows]).await?;
    let runs = entries.iter().flat_map(|entry| &entry.runs).copied().collect();
    Ok(Entry { runs, ..written })
}

fn in_order(table: Table, batches: &[RecordBatch]) -> Result<RecordBatch> {
    let all = concat_batches(&table.schema(), batches)?;
    let columns = table.order().iter().filter_map(|name| all.column_by_name(name));
    let columns = columns.map(|values| SortColumn { values: values.clone(), options: None });
    let indices = lexsort_to_indices(&columns.collect::<Vec<_>>(), None)?;
    Ok(take_record_batch(&all, &indices)?)
}

/// Sites that are in order, each once.
fn each_once(rows: &RecordBatch) -> Result<RecordBatch> {
    let sites = tables::int64s(rows, "site")?;
    let is_first = |at: usize| at == 0 || sites.value(at) != sites.value(at - 1);
    let kept = (0..rows.num_rows()).map(is_first).collect::<Vec<_>>().into();
    Ok(datafusion::arrow::compute::filter_record_batch(rows, &kept)?)
}

async fn replace(store: &Store, entries: &[&Entry], one: &Entry) -> Result<()> {
    let remove: Vec<String> = entries.iter().map(|entry| entry.path.clone()).collect();
    State::commit(store, |state| {
        let are_there = remove.iter().all(|path| state.has(path));
        ensure!(are_there, "somebody else has changed the dataset meanwhile; run `compact` again");
        Ok(Change { add: vec![one.clone()], remove: remove.clone() })
    })
    .await?;
    let gone: Vec<_> = remove.into_iter().filter(|path| *path != one.path).collect();
    take_away(store, &gone).await
}
