//! Coverage-guided fuzzing of the trace readers and of filters, with libFuzzer and the stable compiler.
//!
//! What `cargo fuzz` would do without the address sanitizer, which needs a nightly compiler and finds
//! little in a crate without unsafe code. The corpus is kept in `fuzz/corpus`, and begins with the
//! packets of the fixture traces.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::shell;

const COVERAGE: &str = "--cfg fuzzing -Ccodegen-units=1 -Cdebug-assertions -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table";

const FUZZERS: &[&str] = &[
    "memtrace_read",
    "memtrace_roundtrip",
    "lt_read",
    "lt_columns",
    "lt_roundtrip",
    "filter",
    "message",
    "patch",
    "walk",
    "import",
    "heap_dump",
    "heap_snapshot",
    "cmt",
    "request",
];

/// Runs each fuzzer for so many seconds.
///
/// # Errors
/// If an input was found that breaks a promise (it is then in `fuzz/artifacts`), or fuzzing could
/// not begin.
pub fn run(seconds: u64) -> Result<()> {
    let target = host()?;
    let mut build = shell::cargo_command(
        "build --release --bins --manifest-path fuzz/Cargo.toml --target-dir target/fuzz",
    );
    build.args(["--target", &target]).env("RUSTFLAGS", COVERAGE);
    shell::run(build)?;
    shell::cargo(
        "run --release --manifest-path fuzz/Cargo.toml --target-dir target/fuzz --example seeds",
    )?;
    FUZZERS.iter().try_for_each(|fuzzer| fuzz(&target, fuzzer, seconds))
}

fn fuzz(target: &str, fuzzer: &str, seconds: u64) -> Result<()> {
    let (corpus, artifacts) =
        (format!("fuzz/corpus/{fuzzer}"), format!("fuzz/artifacts/{fuzzer}/"));
    std::fs::create_dir_all(&corpus)?;
    std::fs::create_dir_all(&artifacts)?;
    let mut command =
        Command::new(Path::new("target/fuzz").join(target).join("release").join(fuzzer));
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-artifact_prefix={artifacts}"));
    command.args(["-print_final_stats=1", "-timeout=10", "-rss_limit_mb=2048"]).arg(corpus);
    shell::run(command)
}

/// The compiler's own target. Naming it keeps the flags away from build scripts.
fn host() -> Result<String> {
    let mut command = Command::new("rustc");
    command.args(["--print", "host-tuple"]);
    shell::output(command)
}
