//! Traces become rows of a dataset.
//!
//! ```text
//! trace ─→ reading (lives, facts) ─→ naming (sites) ─→ Intake: rows of one run
//!                                                        └─→ batch: files by day and service ─→ one commit
//! ```
//!
//! Files are written first, and the commit names them afterwards: a run is in the dataset with all of its rows, or not at
//! all, whatever happens in between.

pub mod batch;
mod identity;
mod naming;
mod reading;

use std::path::PathBuf;

use anyhow::Result;
use futures::{StreamExt, stream};

use crate::log::State;
use crate::store::Store;
use crate::tables::{Growth, Labels, Partition, Rollup, Samples, Sites, Totals, runs::Run};
pub use batch::Batch;
pub use reading::read;

/// So many samples are gathered before files are written, whatever the number of runs.
const WORTH_A_COMMIT: usize = 4 << 20;

/// All rows of one run.
#[derive(Clone, Debug)]
pub struct Intake {
    /// Its day and service.
    pub partition: Partition,
    /// Its row.
    pub run: Run,
    /// Its labels.
    pub labels: Labels,
    /// Its sampled blocks, by site and birth.
    pub samples: Samples,
    /// Its backtraces.
    pub sites: Sites,
    /// What its backtraces amount to.
    pub totals: Totals,
    /// What they amount to by hours and lifetimes.
    pub rollup: Rollup,
    /// What its callsites hold.
    pub growth: Growth,
    /// What of the trace could not be read, in words.
    pub damage: Vec<String>,
}

/// What has become of traces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// Runs that are new.
    pub runs: usize,
    /// Their samples.
    pub samples: usize,
    /// Traces that were there.
    pub known: usize,
    /// What could not be added, or not as a whole, and why.
    pub complaints: Vec<String>,
    /// Some could not be added at all.
    pub has_failed: bool,
}

/// Adds traces that are not there yet; tells `watch` of each that has been read. One that cannot be read keeps no other from
/// being added.
///
/// # Errors
/// If the dataset cannot be read or written.
pub async fn add(
    store: &Store,
    traces: &[PathBuf],
    mut watch: impl FnMut(&PathBuf),
) -> Result<Added> {
    let (mut added, mut batch) = (Added::default(), Batch::default());
    let mut known = State::read(store).await?.runs();
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let readings =
        traces.iter().cloned().map(|path| tokio::task::spawn_blocking(move || (read(&path), path)));
    let mut readings = stream::iter(readings).buffered(threads);
    while let Some(reading) = readings.next().await {
        let (outcome, path) = reading?;
        watch(&path);
        let intake = match outcome {
            Ok(intake) => intake,
            Err(error) => {
                added.complaints.push(format!("{error:#}"));
                added.has_failed = true;
                continue;
            }
        };
        if !known.insert(intake.run.run) {
            added.known += 1;
            continue;
        }
        let of = |text: &String| format!("{}: {text}", path.display());
        added.complaints.extend(intake.damage.iter().map(of));
        batch.take(intake);
        if batch.samples() >= WORTH_A_COMMIT {
            write(store, &mut batch, &mut added).await?;
        }
    }
    write(store, &mut batch, &mut added).await?;
    Ok(added)
}

/// Writes what has been gathered, and commits it. Of runs that somebody else has added meanwhile nothing is added twice: then
/// that is an error.
async fn write(store: &Store, batch: &mut Batch, added: &mut Added) -> Result<()> {
    let (runs, samples) = (batch.runs(), batch.samples());
    if runs == 0 {
        return Ok(());
    }
    std::mem::take(batch).write(store).await?;
    added.runs += runs;
    added.samples += samples;
    Ok(())
}
