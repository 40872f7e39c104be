//! What somebody sees who types `lifetrace` and nothing else, and what `--version` says.

use std::sync::LazyLock;

use lifetrace_trace::{lt, lth, memtrace};

/// What can be done next, for somebody who has not said what.
pub const FIRST: &str = "\
Lifetrace watches the life of sampled allocations, in programs as they are.

  lifetrace record --report -- CMD ARGS...  run a program, and show who allocates what
  lifetrace attach --duration 30s PID       record a process that is running
  lifetrace view TRACE                      look at a trace in a browser; `lifetrace report` prints it

`lifetrace doctor` says what works on this machine, `lifetrace help` what else there is.
";

/// The commit that this was built from, where the build knew it.
const COMMIT: Option<&str> = option_env!("LIFETRACE_COMMIT");

/// With the commit, and the formats that are written; docs/format.md and its neighbours say which are read.
pub static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{} ({})\ntraces: .lt {}.{}, .ctf of Memtrace {}; heap snapshots: .lth {}.{}",
        env!("CARGO_PKG_VERSION"),
        COMMIT.unwrap_or("commit unknown"),
        lt::MAJOR,
        lt::MINOR,
        memtrace::Version::default(),
        lth::MAJOR,
        lth::MINOR,
    )
});
