//! Whether a dataset is as its log says.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::Result;

use crate::log::{self, Entry, State};
use crate::store::Store;
use crate::tables::{self, Table};

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is not there, though the log has it.
    Missing(String),
    /// It has another length, or cannot be read, or has other rows or columns.
    Damaged(String, String),
    /// It is there, and the log does not have it: somebody was killed before his commit, or works on it now. It does not
    /// count.
    LeftOver(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Missing(path) => {
                write!(f, "{path}: is missing; its runs have to be added again")
            }
            Problem::Damaged(path, why) => write!(f, "{path}: is damaged: {why}"),
            Problem::LeftOver(path) => {
                write!(f, "{path}: is in no commit, and does not count; `--clean` removes it")
            }
        }
    }
}

/// Reads every file of a dataset; `clean` removes those that nobody has committed. To be used while nobody adds.
///
/// # Errors
/// If the dataset itself cannot be read.
pub async fn check(store: &Store, clean: bool) -> Result<Vec<Problem>> {
    let state = State::read(store).await?;
    let mut problems = Vec::new();
    for entry in state.all() {
        match store.read(&entry.path).await? {
            None => problems.push(Problem::Missing(store.url(&entry.path))),
            Some(bytes) => {
                let path = store.url(&entry.path);
                problems.extend(wrong(entry, bytes).map(|why| Problem::Damaged(path, why)));
            }
        }
    }
    for path in left_over(store, &state).await? {
        if clean {
            store.remove(&path).await?;
        }
        problems.push(Problem::LeftOver(store.url(&path)));
    }
    Ok(problems)
}

fn wrong(entry: &Entry, bytes: Vec<u8>) -> Option<String> {
    if bytes.len() as u64 != entry.bytes {
        return Some(format!("it has {} bytes instead of {}", bytes.len(), entry.bytes));
    }
    let batches = match tables::read(bytes) {
        Ok(batches) => batches,
        Err(error) => return Some(format!("{error:#}")),
    };
    let rows: u64 = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    if rows != entry.rows {
        return Some(format!("it has {rows} rows instead of {}", entry.rows));
    }
    let expected = entry.table.schema();
    let is_other = batches.iter().any(|batch| batch.schema().fields() != expected.fields());
    is_other.then(|| format!("its columns are not those of {}", entry.table))
}

async fn left_over(store: &Store, state: &State) -> Result<BTreeSet<String>> {
    let mut paths = BTreeSet::new();
    for table in Table::ALL {
        let there = store.list(table.name()).await?.into_iter().map(|(path, _)| path);
        paths.extend(there.filter(|path| !state.has(path)));
    }
    debug_assert!(!paths.iter().any(|path| path.starts_with(log::FOLDER)));
    Ok(paths)
}
