//! What the benchmarks run: programs that spend their time in the allocator, on generated inputs.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::shell;

/// A command to measure.
pub struct Workload {
    /// In the record.
    pub name: &'static str,
    /// What to run.
    pub command: Vec<OsString>,
    /// Variables that it needs.
    pub environment: &'static [(&'static str, &'static str)],
}

/// All workloads; their inputs are written into `folder`.
///
/// # Errors
/// If an input cannot be written.
pub fn all(folder: &Path) -> Result<Vec<Workload>> {
    let script = folder.join("load.sql");
    fs::write(&script, sql())?;
    let read = format!(".read {}", script.display());
    let python = shell::root().join("benchmarks/workloads/work.py");
    Ok(vec![
        Workload {
            name: "sqlite",
            command: vec!["sqlite3".into(), ":memory:".into(), read.into()],
            environment: &[],
        },
        Workload {
            name: "python",
            command: vec!["/usr/bin/python3".into(), python.into(), "10".into()],
            environment: &[("PYTHONMALLOC", "malloc"), ("PYTHONHASHSEED", "0")],
        },
    ])
}

fn sql() -> String {
    let mut sql = String::from("create table t(id integer primary key, name text, n int);\n");
    for row in 0..120_000_u64 {
        let number = row.wrapping_mul(2_654_435_761) % 10_007;
        let _ = writeln!(sql, "insert into t values({row}, 'name {number}', {number});");
    }
    sql.push_str("create index by_n on t(n);\n");
    for row in 0..25_000_u64 {
        let _ = writeln!(sql, "select count(*), max(name) from t where n = {};", row * 7 % 10_007);
    }
    sql.push_str("select n % 100, count(*) from t group by 1;\n");
    sql
}
