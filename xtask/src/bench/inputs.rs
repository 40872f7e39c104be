//! Inputs of workloads that are too long to be kept: the same text each time.

use std::fmt::Write;

/// A script for sqlite: so many inserts, so many indexed selects, and a grouping.
pub fn sql(inserts: u64, selects: u64) -> String {
    let mut sql = String::from("create table t(id integer primary key, name text, n int);\n");
    for row in 0..inserts {
        let number = row.wrapping_mul(2_654_435_761) % 10_007;
        let _ = writeln!(sql, "insert into t values({row}, 'name {number}', {number});");
    }
    sql.push_str("create index by_n on t(n);\n");
    for row in 0..selects {
        let _ = writeln!(sql, "select count(*), max(name) from t where n = {};", row * 7 % 10_007);
    }
    sql.push_str("select n % 100, count(*) from t group by 1;\n");
    sql
}
