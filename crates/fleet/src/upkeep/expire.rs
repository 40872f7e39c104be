//! What is too old goes.

use anyhow::Result;

use super::{Done, take_away};
use crate::log::{Change, Entry, State};
use crate::store::Store;

/// Removes all runs that began before that day, `2026-11-28`.
///
/// # Errors
/// If the dataset cannot be read or changed.
pub async fn expire(store: &Store, before: &str) -> Result<Done> {
    let mut gone: Vec<Entry> = Vec::new();
    State::commit(store, |state| {
        gone = state.all().filter(|entry| &*entry.date < before).cloned().collect();
        let remove = gone.iter().map(|entry| entry.path.clone()).collect();
        Ok(Change { add: Vec::new(), remove })
    })
    .await?;
    let paths: Vec<_> = gone.iter().map(|entry| entry.path.clone()).collect();
    take_away(store, &paths).await?;
    Ok(Done {
        removed: gone.len(),
        written: 0,
        runs: gone.iter().map(|entry| entry.runs.len()).sum(),
        bytes: gone.iter().map(|entry| entry.bytes as i64).sum(),
    })
}
