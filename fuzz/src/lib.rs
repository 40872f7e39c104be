//! What the fuzz targets have in common.

pub mod lt;

/// The command is no library; its import knows nothing of the rest of it.
#[allow(dead_code, reason = "the command uses more of it than fuzzers do")]
#[path = "../../crates/cli/src/import/mod.rs"]
pub mod import;
