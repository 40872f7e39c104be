//! Heap snapshots where traces are read as well: `info`, `check` and `dump` read their records one by one, without the
//! graph that `heap` makes of them, and so whatever their length.

mod check;
mod dump;
mod info;
mod reading;

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

pub(super) use check::Verdict;
pub(super) use dump::{dump, packets};
pub(super) use info::info;

/// The file, if it is a snapshot, perhaps a damaged one.
///
/// # Errors
/// If it cannot be read; that it cannot be opened is for others to say.
pub(super) fn open(path: &Path) -> anyhow::Result<Option<File>> {
    const MARK: u64 = 4;
    let is_file = path.metadata().is_ok_and(|it| it.is_file());
    let Some(mut file) = File::open(path).ok().filter(|_| is_file) else { return Ok(None) };
    let mut beginning = Vec::new();
    (&mut file).take(MARK).read_to_end(&mut beginning)?;
    file.rewind()?;
    Ok(lifetrace_trace::lth::is_snapshot(&beginning).then_some(file))
}
