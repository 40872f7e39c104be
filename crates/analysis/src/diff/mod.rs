//! What changed between two sides, each of one or several runs of a program that may have been rebuilt.
//!
//! ```text
//!   runs of a side ─→ Aligned   a row for each place, a column for each run ─┐
//!                                                                            ├─ pairs of rows ─→ Change
//!   runs of the other ─→ Aligned ────────────────────────────────────────────┘
//! ```
//!
//! Places are matched by [names](crate::statistics::matching); a place that a run does not have is
//! nothing there. Whether a change is more than noise is for [`compare`](crate::statistics::compare)
//! to say; among many changes some would look so by chance, which is corrected for: of those called
//! significant at a level of 5 %, at most 5 % are noise, on average (Benjamini and Hochberg 1995).

mod tree;

use crate::estimate::Estimate;
use crate::statistics::correction::benjamini_hochberg;
use crate::statistics::matching::{Matching, Site};
use crate::statistics::{Difference, Run};

pub use tree::{NameTree, TreeChange, TreeSide, compare_trees};

/// A place by its name, and what a run has there.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name of the function.
    pub function: String,
    /// Source file, or nothing.
    pub file: String,
    /// Line, or 0.
    pub line: u32,
    /// The amount.
    pub value: Estimate,
}

/// The places of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunEntries {
    /// Each place once.
    pub entries: Vec<Entry>,
    /// See [`Run::grain`].
    pub grain: f64,
}

/// A place, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Name of the function, after if it is there, else before.
    pub function: String,
    /// Source file, or nothing.
    pub file: String,
    /// Line, or 0.
    pub line: u32,
    /// By how much it changed.
    pub difference: Difference,
    /// Probability of such a change by chance, corrected for the number of places.
    pub p_value: f64,
}

/// Compares all places of two sides, the greatest change first. Nothing if a side has no run.
pub fn compare(before: &[RunEntries], after: &[RunEntries]) -> Vec<Change> {
    let [before, after] = [before, after].map(Aligned::of);
    let matching = Matching::of(&before.sites(), &after.sites());
    let pairs = matching.pairs.iter().map(|&(old, new)| (Some(old), Some(new)));
    let gone = matching.gone.iter().map(|&old| (Some(old), None));
    let new = matching.new.iter().map(|&new| (None, Some(new)));
    let changes = pairs.chain(gone).chain(new).filter_map(|(old, new)| {
        let difference = Difference::of(&before.runs(old), &after.runs(new))?;
        let row =
            new.map_or_else(|| old.map(|old| &before.rows[old]), |new| Some(&after.rows[new]))?;
        Some((row, difference))
    });
    in_order(changes.collect())
}

fn in_order(changes: Vec<(&Row, Difference)>) -> Vec<Change> {
    let raw: Vec<_> = changes.iter().map(|(_, difference)| difference.p_value()).collect();
    let corrected = benjamini_hochberg(&raw);
    let mut changes: Vec<_> = changes
        .into_iter()
        .zip(corrected)
        .map(|((row, difference), p_value)| Change {
            function: row.function.clone(),
            file: row.file.clone(),
            line: row.line,
            difference,
            p_value,
        })
        .collect();
    let size = |change: &Change| change.difference.change().abs();
    let name = |change: &Change| (change.function.clone(), change.file.clone(), change.line);
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)).then_with(|| name(a).cmp(&name(b))));
    changes
}

/// The runs of a side.
struct Aligned {
    rows: Vec<Row>,
    grains: Vec<f64>,
}

struct Row {
    function: String,
    file: String,
    line: u32,
    /// One for each run.
    values: Vec<Estimate>,
}

impl Aligned {
    fn of(runs: &[RunEntries]) -> Self {
        let grains = runs.iter().map(|run| run.grain).collect();
        let mut aligned = Self { rows: Vec::new(), grains };
        runs.iter().enumerate().for_each(|(number, run)| aligned.add(number, run));
        aligned
    }

    fn add(&mut self, number: usize, run: &RunEntries) {
        let sites: Vec<_> = run.entries.iter().map(Entry::site).collect();
        let matching = Matching::of(&self.sites(), &sites);
        for &(row, entry) in &matching.pairs {
            self.rows[row].values[number] += run.entries[entry].value;
        }
        for &entry in &matching.new {
            let Entry { function, file, line, value } = run.entries[entry].clone();
            let mut values = vec![Estimate::default(); self.grains.len()];
            values[number] = value;
            self.rows.push(Row { function, file, line, values });
        }
    }

    fn sites(&self) -> Vec<Site<'_>> {
        self.rows.iter().map(Row::site).collect()
    }

    /// What the runs have there; nothing if there is no row.
    fn runs(&self, row: Option<usize>) -> Vec<Run> {
        let value = |number: usize| row.map(|row| self.rows[row].values[number]);
        let run = |(number, &grain)| Run { estimate: value(number).unwrap_or_default(), grain };
        self.grains.iter().enumerate().map(run).collect()
    }
}

impl Row {
    fn site(&self) -> Site<'_> {
        Site { function: &self.function, file: &self.file, line: self.line }
    }
}

impl Entry {
    fn site(&self) -> Site<'_> {
        Site { function: &self.function, file: &self.file, line: self.line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(function: &str, line: u32, value: f64) -> Entry {
        let value = Estimate { value, variance: value, uncertain: value };
        Entry { function: function.into(), file: "a.c".into(), line, value }
    }

    fn run(entries: &[(&str, u32, f64)]) -> RunEntries {
        let entries = entries.iter().map(|&(function, line, value)| entry(function, line, value));
        RunEntries { entries: entries.collect(), grain: 1.0 }
    }

    fn changes(before: &[RunEntries], after: &[RunEntries]) -> Vec<(String, u32, f64)> {
        let changes = compare(before, after).into_iter();
        changes.map(|it| (it.function, it.line, it.difference.change())).collect()
    }

    #[test]
    fn places_are_what_they_were_though_lines_have_shifted() {
        let before = run(&[("f", 10, 100.0), ("f", 12, 50.0), ("old", 3, 7.0)]);
        let after = run(&[("f", 14, 300.0), ("f", 16, 50.0), ("new", 1, 9.0)]);
        let expected = [("f", 14, 200.0), ("new", 1, 9.0), ("old", 3, -7.0), ("f", 16, 0.0)]
            .map(|(function, line, change)| (function.to_owned(), line, change));
        assert_eq!(changes(&[before], &[after]), expected);
    }

    #[test]
    fn a_place_that_a_run_does_not_have_is_nothing_there() {
        let before = [run(&[("f", 1, 10.0)]), run(&[("g", 2, 30.0)])];
        let after =
            [run(&[("f", 1, 10.0), ("g", 2, 30.0)]), run(&[("f", 1, 10.0), ("g", 2, 30.0)])];
        let expected = [("g", 2, 15.0), ("f", 1, 5.0)]
            .map(|(function, line, change)| (function.to_owned(), line, change));
        assert_eq!(changes(&before, &after), expected);
    }

    #[test]
    fn equal_sides_have_no_change_and_a_great_change_is_significant() {
        let side = [run(&[("f", 1, 100.0), ("g", 2, 1000.0)])];
        assert!(compare(&side, &side).iter().all(|change| change.p_value == 1.0));
        let after = [run(&[("f", 1, 400.0), ("g", 2, 1010.0)])];
        let changes = compare(&side, &after);
        assert!(changes[0].p_value < 1e-6 && changes[1].p_value > 0.5);
        assert!(compare(&side, &[]).is_empty());
    }
}
