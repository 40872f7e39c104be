//! How long the blocks of each callsite live: in time, and in collections of the garbage collector.

use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::Timestamp;
use rustc_hash::FxHashMap;

pub use crate::cycles::Collections;
use crate::cycles::Cycles;
use crate::history::Block;
use crate::replay::{Death, Observer};
use crate::sites::{SiteId, Sites};
use crate::statistics::{Histogram, Mass, Survival, Unit};

/// Observes lifetimes. For each callsite it keeps three [`Survival`]s, which are of bounded size.
pub struct Lifetimes<'s, 'a> {
    sites: &'s Sites<'a>,
    cycles: Cycles,
    found: FxHashMap<SiteId, Lifetime>,
}

/// What is known when all has been heard.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// By callsite.
    pub sites: FxHashMap<SiteId, Lifetime>,
    /// The collections that the trace tells of.
    pub collections: Collections,
}

/// How long blocks live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lifetime {
    /// In microseconds.
    pub time: Survival,
    /// In collections of the young heap: those that began while the block lived.
    pub minor: Survival,
    /// In collections of the whole heap.
    pub major: Survival,
}

impl<'s, 'a> Lifetimes<'s, 'a> {
    /// Of these callsites.
    pub fn new(sites: &'s Sites<'a>) -> Self {
        Self { sites, cycles: Cycles::default(), found: FxHashMap::default() }
    }

    /// When all has been heard.
    pub fn finish(self) -> Found {
        Found { sites: self.found, collections: self.cycles.so_far() }
    }

    fn end(&mut self, block: &Block, time: Timestamp, take: fn(&mut Survival, u64, &Mass)) {
        let collections = self.cycles.end(block);
        let Some(site) = self.sites.of(block.backtrace) else { return };
        let mass = Mass::of_block(&block.tally().amount());
        let lifetime = self.found.entry(site).or_default();
        take(&mut lifetime.time, time.0.saturating_sub(block.born.0), &mass);
        take(&mut lifetime.minor, collections.minor, &mass);
        take(&mut lifetime.major, collections.major, &mass);
    }
}

impl Lifetime {
    /// What its blocks are best counted in: what reallocations add has bytes, but no objects.
    pub fn unit(&self) -> Unit {
        let objects = |part: &Histogram| part.total().sums(Unit::Objects).weight();
        let has_objects = objects(self.time.deaths()) + objects(self.time.survivors()) > 0.0;
        if has_objects { Unit::Objects } else { Unit::Bytes }
    }
}

impl Found {
    /// Of the whole program.
    pub fn all(&self) -> Lifetime {
        let mut all = Lifetime::default();
        for lifetime in self.sites.values() {
            all.time += &lifetime.time;
            all.minor += &lifetime.minor;
            all.major += &lifetime.major;
        }
        all
    }
}

impl Observer for Lifetimes<'_, '_> {
    fn born(&mut self, block: &Block) {
        self.cycles.born(block);
    }

    fn died(&mut self, block: &Block, death: Death) {
        self.end(block, death.time, Survival::died);
    }

    fn survived(&mut self, block: &Block, end: Timestamp) {
        self.end(block, end, Survival::survived);
    }

    fn fact(&mut self, _time: Timestamp, fact: &Fact) {
        self.cycles.take(fact);
    }
}
