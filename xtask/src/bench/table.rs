//! The table in the page of costs: what the latest rows of the record say, between two marks.
//!
//! A test checks that the page has what the record gives, so neither changes without the other.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};

use super::latest::{Latest, Measured};
use super::workload::PLANS;
use crate::shell;

/// The name of the record.
pub const RECORD: &str = "native-2";

const PAGE: &str = "docs/costs.md";
const BEGIN: &str = "<!-- written by `cargo xtask bench table` -->\n";
const END: &str = "<!-- end of the table -->\n";

/// A column of the first table: its head, and the variant that it shows.
const RATIOS: &[(&str, &str)] = &[
    ("bare again", "bare-again"),
    ("floor", "floor"),
    ("512 KiB", "512KiB"),
    ("64 KiB", "64KiB"),
    ("exact", "exact"),
    ("heaptrack", "heaptrack"),
    ("jemalloc's profiler", "jemalloc-prof"),
    ("tcmalloc's sampler", "tcmalloc-sampling"),
];

/// The variant of the second table.
const DETAILED: &str = "512KiB";

/// Writes the page's table anew.
///
/// # Errors
/// If the page has no marks, or cannot be written.
pub fn write() -> Result<()> {
    let path = shell::root().join(PAGE);
    let page = fs::read_to_string(&path)?;
    Ok(fs::write(path, with_table(&page, &table()?)?)?)
}

/// What the record gives: nothing, as long as there is none.
fn table() -> Result<String> {
    let path = shell::root().join(format!("benchmarks/record/{RECORD}.csv"));
    if !path.exists() {
        return Ok(String::new());
    }
    render(&fs::read_to_string(path)?)
}

fn with_table(page: &str, table: &str) -> Result<String> {
    let (before, rest) = page.split_once(BEGIN).context("the page has no mark of the table")?;
    let (_, after) = rest.split_once(END).context("the page has no mark after the table")?;
    Ok(format!("{before}{BEGIN}{table}{END}{after}"))
}

fn render(record: &str) -> Result<String> {
    let latest = Latest::read(record)?;
    let mut text = format!("\n{}\n\n", caption(&latest));
    text += &head(RATIOS.iter().map(|(head, _)| *head), "bare CPU");
    for name in workloads(&latest) {
        let bare = latest.find(name, "bare").map_or_else(String::new, |row| seconds(row, "cpu_s"));
        let cells = RATIOS.iter().map(|(_, variant)| ratio(latest.find(name, variant)));
        text += &line(name, std::iter::once(bare).chain(cells));
    }
    let heads = ["wall", "peak memory", "trace", "samples", "events", "bytes per event"];
    text += "\nThe same runs at 512 KiB in more detail:\n\n";
    text += &head(heads.into_iter(), "recorder CPU");
    for name in workloads(&latest) {
        text += &line(name, latest.find(name, DETAILED).map_or_else(Vec::new, details));
    }
    text.push('\n');
    Ok(text)
}

fn caption(latest: &Latest) -> String {
    let rounds = latest.find_any(DETAILED).map_or("", |row| row.cell("rounds"));
    format!(
        "Processor time of the program and its children, as a multiple of the bare run's: the median of \
         {rounds} rounds (lower and upper quartile), a third of the rounds for exact and heaptrack.\n\
         `bare again` compares the bare program with itself: that much is noise. `floor` is a preloaded library that \
         passes all calls on and does nothing: the least that any can cost.\n\
         The last two columns are profilers inside allocators, compared with the same allocator that \
         does not sample; after the slash, with glibc's.\n\
         Measured {} at commit {} on {} cores of {}.",
        latest.shared("date"),
        latest.shared("commit"),
        latest.shared("cores"),
        latest.shared("processor"),
    )
}

fn workloads(latest: &Latest) -> impl Iterator<Item = &'static str> {
    PLANS.iter().map(|plan| plan.name).filter(|name| latest.find(name, "bare").is_some())
}

fn head<'a>(heads: impl Iterator<Item = &'a str>, first: &str) -> String {
    let mut line = format!("| program | {first} |");
    let mut rule = "|---|--:|".to_owned();
    for head in heads {
        let _ = write!(line, " {head} |");
        rule.push_str("--:|");
    }
    format!("{line}\n{rule}\n")
}

fn line(name: &str, cells: impl IntoIterator<Item = String>) -> String {
    let cells = cells.into_iter().map(|cell| format!(" {cell} |"));
    format!("| {name} |{}\n", cells.collect::<String>())
}

fn ratio(row: Option<Measured>) -> String {
    let Some(row) = row else { return "–".to_owned() };
    let decimals = if row.number("cpu_ratio") < 2.0 { 3 } else { 1 };
    let [median, low, high] = ["cpu_ratio", "cpu_ratio_low", "cpu_ratio_high"]
        .map(|column| format!("{:.decimals$}", row.number(column)));
    let to_glibc = match row.cell("baseline") {
        "bare" => String::new(),
        _ => format!(" / {:.2}", row.number("cpu_ratio_to_bare")),
    };
    format!("{median} ({low}–{high}){to_glibc}")
}

fn seconds(row: Measured, column: &str) -> String {
    format!("{:.2} s", row.number(column))
}

fn details(row: Measured) -> Vec<String> {
    vec![
        seconds(row, "recorder_cpu_s"),
        format!("{:.2}", row.number("wall_ratio")),
        format!("{:.2}", row.number("peak_ratio")),
        format!("{:.0} KB", row.number("file_bytes") / 1e3),
        row.cell("samples").to_owned(),
        row.cell("events").to_owned(),
        format!("{:.1}", row.number("bytes_per_event")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo xtask bench table` mends it.
    #[test]
    fn the_page_has_what_the_record_gives() {
        let page = fs::read_to_string(shell::root().join(PAGE)).unwrap();
        let expected = with_table(&page, &table().unwrap()).unwrap();
        assert!(
            page == expected,
            "docs/costs.md is not what the record gives: cargo xtask bench table"
        );
    }

    #[test]
    fn a_table_has_a_line_for_each_workload() {
        let record = "date,commit,processor,cores,workload,variant,baseline,rounds,cpu_s,cpu_ratio,cpu_ratio_low,\
                      cpu_ratio_high,cpu_ratio_to_bare\n\
                      d,c,p,2,perl,bare,bare,9,1.5,1,1,1,1\n\
                      d,c,p,2,perl,heaptrack,bare,3,5,3.61,3.5,3.7,3.61\n\
                      d,c,p,2,perl,jemalloc-prof,jemalloc,9,1.5,1.021,1.01,1.03,0.98\n";
        let text = render(record).unwrap();
        let line = "| perl | 1.50 s | – | – | – | – | – | 3.6 (3.5–3.7) | 1.021 (1.010–1.030) / 0.98 | – |";
        assert!(text.lines().any(|one| one == line), "{text}");
    }

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let page = format!("a\n{BEGIN}old\n{END}b\n");
        assert_eq!(with_table(&page, "new\n").unwrap(), format!("a\n{BEGIN}new\n{END}b\n"));
        assert!(with_table("no marks", "new\n").is_err());
    }
}
