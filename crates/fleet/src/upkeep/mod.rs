//! A dataset is kept small and sound.

mod check;
mod compact;
mod expire;

pub use check::{Problem, check};
pub use compact::compact;
pub use expire::expire;

use anyhow::Result;

use crate::store::Store;

/// What has been done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Files that are no longer in the dataset.
    pub removed: usize,
    /// Files that are new.
    pub written: usize,
    /// Runs that are no longer in it.
    pub runs: usize,
    /// By how many bytes it is smaller now.
    pub bytes: i64,
}

/// Takes away files that a commit has removed. If that fails, or somebody is killed before it, they are left over, which
/// [`check`] tells.
async fn take_away(store: &Store, paths: &[String]) -> Result<()> {
    for path in paths {
        store.remove(path).await?;
    }
    Ok(())
}
