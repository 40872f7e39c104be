//! What holds the blocks of a callsite, by a snapshot of the heap that lies beside the trace.

use std::cmp::Reverse;

use lifetrace_analysis::history::Block;
use lifetrace_analysis::sites::SiteId;
use lifetrace_analysis::{Observer, Sites};
use lifetrace_human as human;
use lifetrace_study::Study;
use lifetrace_trace::ids::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::ways::{Way, Ways};

/// More steps of a way are not shown.
const SHOWN: usize = 8;

/// The way by which most of a callsite's blocks are held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct HeldBy {
    snapshot: String,
    /// From the root on; the block itself is left out.
    path: Vec<String>,
    /// Sampled blocks that are held so, of those that live at the end and are in the snapshot.
    samples: u64,
    samples_in_snapshot: u64,
}

/// By callsite, the blocks that live at the end and are in the snapshot.
struct Gathering<'s, 'a> {
    sites: &'s Sites<'a>,
    wanted: FxHashSet<SiteId>,
    ways: &'s Ways,
    found: FxHashMap<SiteId, FxHashMap<Way, u64>>,
}

/// What holds the blocks of these callsites.
///
/// # Errors
/// If the trace cannot be read any more.
pub(super) fn held_by(
    study: &Study,
    sites: &Sites<'_>,
    wanted: impl Iterator<Item = SiteId>,
    ways: &Ways,
) -> anyhow::Result<FxHashMap<SiteId, HeldBy>> {
    let wanted = wanted.collect();
    let mut gathering = Gathering { sites, wanted, ways, found: FxHashMap::default() };
    study.replay(&mut gathering)?;
    let held = |(site, ways)| Some((site, HeldBy::most(&gathering.ways.snapshot, &ways)?));
    Ok(gathering.found.into_iter().filter_map(held).collect())
}

impl Observer for Gathering<'_, '_> {
    fn survived(&mut self, block: &Block, _end: Timestamp) {
        if let Some(way) = self.ways.by_birth.get(&block.index)
            && let Some(site) = self.sites.of(block.backtrace)
            && self.wanted.contains(&site)
        {
            *self.found.entry(site).or_default().entry(Way::clone(way)).or_default() += 1;
        }
    }
}

impl HeldBy {
    fn most(snapshot: &str, ways: &FxHashMap<Way, u64>) -> Option<HeldBy> {
        let (path, &samples) = ways.iter().max_by_key(|&(way, &count)| (count, Reverse(way)))?;
        Some(HeldBy {
            snapshot: snapshot.to_owned(),
            path: path.to_vec(),
            samples,
            samples_in_snapshot: ways.values().sum(),
        })
    }

    /// In a line.
    pub(super) fn text(&self) -> String {
        let HeldBy { snapshot, path, samples, samples_in_snapshot } = self;
        let mut steps: Vec<_> = path.iter().map(|step| human::printable(step)).collect();
        if steps.len() > SHOWN {
            steps.splice(SHOWN / 2..path.len() - SHOWN / 2, ["...".into()]);
        }
        let [samples, all] = [samples, samples_in_snapshot].map(|it| human::count(*it as f64));
        let share =
            if samples == all { format!("all {all}") } else { format!("{samples} of {all}") };
        format!("held by {} ({share} samples in {})", steps.join(" > "), human::printable(snapshot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(steps: &[&str]) -> Way {
        steps.iter().map(|&step| step.to_owned()).collect()
    }

    #[test]
    fn the_way_of_most_is_told_and_long_ones_are_cut() {
        let few = way(&["stack"]);
        let many = way(&["Cache, field 4", "hash table", "buckets", "list cells"]);
        let ways = FxHashMap::from_iter([(few.clone(), 2), (many, 18)]);
        assert_eq!(
            HeldBy::most("s.1.lth", &ways).unwrap().text(),
            "held by Cache, field 4 > hash table > buckets > list cells (18 of 20 samples in s.1.lth)"
        );
        let long = way(&["r", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
        let text = HeldBy::most("s", &FxHashMap::from_iter([(long, 1)])).unwrap().text();
        assert_eq!(text, "held by r > 1 > 2 > 3 > ... > 6 > 7 > 8 > 9 (all 1 samples in s)");
        assert_eq!(HeldBy::most("s", &FxHashMap::default()), None);
    }
}
