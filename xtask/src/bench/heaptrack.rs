//! Runs a command under heaptrack, as its own script does, but so that the command's use of the
//! processor is known apart from the interpreter's.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell;

/// Where Debian keeps it.
const LIBRARY: &str = "/usr/lib/heaptrack/libheaptrack_preload.so";

/// The interpreter resolves names and compresses while the command runs.
const PIPELINE: &str = "\
    mkfifo \"$1\" && \
    { /usr/lib/heaptrack/libexec/heaptrack_interpret <\"$1\" | zstd -qc >\"$2\" & } && \
    shift 2 && { \"$@\"; code=$?; wait; exit $code; }";

/// The name of what a run leaves.
const OUTPUT: &str = "heaptrack.zst";

/// The settings for the command itself, which must be run in a folder of its own.
pub fn settings(folder: &Path) -> [String; 2] {
    [
        format!("LD_PRELOAD={LIBRARY}"),
        format!("DUMP_HEAPTRACK_OUTPUT={}", folder.join("fifo").display()),
    ]
}

/// The words that run `command`, which has been given the settings, and the interpreter beside it.
pub fn words(folder: &Path, command: Vec<OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = ["sh", "-c", PIPELINE, "sh"].map(OsString::from).into();
    words.extend([folder.join("fifo").into(), folder.join(OUTPUT).into()]);
    words.extend(command);
    words
}

/// How many allocations and frees a run has left.
///
/// # Errors
/// If its output cannot be read.
pub fn events(folder: &Path) -> Result<u64> {
    let mut count = Command::new("sh");
    count.args(["-c", "zstd -dc \"$1\" | grep -c '^[+-] '", "sh"]).arg(folder.join(OUTPUT));
    shell::output(count)?.parse().context("grep counts lines")
}
