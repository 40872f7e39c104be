//! What lives in the end, as Ruby's own profiler has it: where a trace has measured objects, these alone, with what they
//! have from malloc, which is not counted once more as malloc's.

use lifetrace_analysis::account::Balance;
use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::estimate::Tally;
use lifetrace_analysis::history::Block;
use lifetrace_analysis::replay::{Earlier, Observer};
use lifetrace_trace::fact::{Fact, SampledUnit};
use lifetrace_trace::ids::{SamplerId, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};

/// What lives in the end, by backtrace.
#[derive(Debug, Default)]
pub struct Retained {
    /// In the order in which they were met.
    tallies: Vec<(NodeId, Tally)>,
    places: FxHashMap<NodeId, usize>,
    of_objects: FxHashSet<SamplerId>,
    are_measured: bool,
}

impl Retained {
    /// Only what lives is known.
    pub fn balances(&self) -> impl Iterator<Item = (NodeId, Balance)> {
        self.tallies.iter().map(|&(node, live)| (node, Balance { live, ..Balance::default() }))
    }
}

impl Observer for Retained {
    fn survived(&mut self, block: &Block, _: Timestamp) {
        if self.are_measured && !self.of_objects.contains(&block.sampler) {
            return;
        }
        let place = *self.places.entry(block.backtrace).or_insert_with(|| {
            self.tallies.push((block.backtrace, Tally::default()));
            self.tallies.len() - 1
        });
        let tally = block.weight.tally(block.last_bytes);
        self.tallies[place].1 += &if block.is_growth { tally.without_objects() } else { tally };
    }

    fn earlier(&mut self, block: &Block, step: Earlier) {
        if let Earlier::Survived(end) = step {
            self.survived(block, end);
        }
    }

    fn fact(&mut self, _: Timestamp, fact: &Fact) {
        match fact {
            Fact::Sampler(sampler) if sampler.unit == SampledUnit::Object => {
                self.of_objects.insert(sampler.id);
            }
            Fact::Resize(_) => self.are_measured = true,
            _ => {}
        }
    }
}
