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

/// A document of so many sections, with paragraphs, a list and a table in each.
pub fn asciidoc(sections: u64) -> String {
    let mut text = String::from("= A long document\n\n");
    for section in 0..sections {
        let _ = writeln!(text, "== Section {section}\n");
        let _ = writeln!(
            text,
            "Some *bold* and _other_ text of `section {section}`, with a https://example.org[link].\n"
        );
        for item in 0..5 {
            let _ =
                writeln!(text, "* item {item} of {section}, which is *{}*", section * item % 97);
        }
        let _ = writeln!(text, "\n|===\n|name |number");
        for row in 0..4 {
            let _ = writeln!(text, "|row {row} |{}", section * 31 % 101 + row);
        }
        text.push_str("|===\n\n");
    }
    text
}

/// Names and texts of so many posts of a blog.
pub fn posts(count: u64) -> impl Iterator<Item = (String, String)> {
    (0..count).map(|post| {
        let name = format!("2020-{:02}-{:02}-post-{post}.md", 1 + post % 12, 1 + post % 28);
        let mut text = format!("---\ntitle: Post {post}\n---\n\n");
        for part in 0..10 {
            let _ = writeln!(
                text,
                "## Part {part}\n\nSome *text* of {{{{ page.title }}}} and `code {part}`.\n"
            );
            let _ = writeln!(
                text,
                "```ruby\ndef method_{part}(n)\n  n.times.map {{ |i| i * {post} }}\nend\n```\n"
            );
        }
        (name, text)
    })
}
