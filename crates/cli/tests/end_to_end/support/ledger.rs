//! What a fixture asked for by its own account, and what a trace has of it.

use std::collections::BTreeMap;
use std::path::Path;

use super::blocks::{self, Block};

/// Allocations of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub blocks: i64,
    pub words: i64,
    /// Words that are alive at the end.
    pub live: i64,
    /// Words that were promoted; of a fixture, those that surely were.
    pub promoted: i64,
}

/// Totals by function.
pub type Ledger = BTreeMap<String, Totals>;

/// What a fixture has printed, in lines `expect FUNCTION blocks=N words=W live=L`; fixtures of a
/// runtime with a collector add ` promoted=P`.
pub fn expected(stdout: &str) -> Ledger {
    stdout.lines().filter_map(|line| line.strip_prefix("expect ")).map(expectation).collect()
}

/// What exact traces say about the functions called `hazard_…`.
pub fn recorded(traces: &[impl AsRef<Path>]) -> Ledger {
    recorded_of(traces, |_| true)
}

/// What exact traces say about the blocks that are `wanted` of the functions called `hazard_…`.
pub fn recorded_of(traces: &[impl AsRef<Path>], wanted: impl Fn(&Block) -> bool) -> Ledger {
    let mut ledger = Ledger::new();
    let blocks = traces.iter().flat_map(|trace| blocks::of(trace.as_ref()));
    for block in blocks.filter(wanted) {
        let Some(hazard) = &block.hazard else { continue };
        let totals = ledger.entry(hazard.to_string()).or_default();
        totals.blocks += i64::from(!block.is_growth);
        totals.words += block.words as i64;
        totals.live += if block.is_live { block.words as i64 } else { 0 };
        totals.promoted += if block.is_promoted { block.words as i64 } else { 0 };
    }
    ledger
}

fn expectation(line: &str) -> (String, Totals) {
    let words: Vec<&str> = line.split([' ', '=']).collect();
    let [function, "blocks", blocks, "words", length, "live", live, ref promoted @ ..] = words[..]
    else {
        panic!("a fixture has printed {line:?}");
    };
    let number = |text: &str| text.parse().unwrap();
    let promoted = promoted.last().map_or(0, |text| number(text));
    (
        function.to_owned(),
        Totals { blocks: number(blocks), words: number(length), live: number(live), promoted },
    )
}
