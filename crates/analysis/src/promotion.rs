//! What was promoted, and what a larger young heap would have spared.
//!
//! A block that is born when the collector has just been is looked at after a whole young heap `N` of
//! further allocations, one born last at once: on average over all, what is promoted are the bytes
//! alive at an age between 0 and `N`, on the [clock](Clock) of allocation. With `S(a)` the part that
//! is alive at age `a`:
//!
//! ```text
//!   promoted with N   =  all / N  * area of S from 0 to N
//!   promoted with kN  =  all / kN * area of S from 0 to kN
//! ```
//!
//! `S` up to `N` is known well, from young deaths and promotions. Beyond it is known as well as major
//! collections show it, which come seldom. So three numbers are given for each size:
//!
//! - the *least*: each promoted block died as soon as it may have, after it was last surely alive;
//! - the *most*: each died when it was found dead; and `S` falls, so beyond `N` it is no higher than
//!   among the oldest third of what was looked at;
//! - between them the one by the [most likely](Censored) `S`.
//!
//! Each promoted block has a part of its bytes in the first two: that of the collections of a heap of
//! `kN` that would have met it alive, `max(age, N) / kN` and at most 1.
//!
//! Assumed is that collections come when the young heap is full, births have nothing to do with them,
//! and the program would do the same.

use std::ops::AddAssign;

use lifetrace_trace::event::Source;
use lifetrace_trace::ids::{DomainId, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::call_tree::NodeId;
use crate::estimate::{Estimate, Tally};
use crate::history::Block;
use crate::nursery::Clock;
use crate::replay::{Death, Observer};
use crate::statistics::Proportion;
use crate::statistics::censored::{Censored, Curve};

/// Times the present size.
const SIZES: [u32; 3] = [2, 4, 8];

/// 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// From this part of the young heap on a block counts as looked at late.
const LATE: f64 = 2.0 / 3.0;

/// Observes the young heap.
#[derive(Clone, Debug)]
pub struct Promotions {
    /// Bytes of the young heap.
    nursery: f64,
    clock: Clock,
    /// Live young blocks, and those that were, by their numbers.
    living: FxHashMap<u64, Moments>,
    nodes: FxHashMap<NodeId, Sums>,
    domains: FxHashSet<DomainId>,
    /// Ages at the collection that met a young block, weighted by bytes.
    looked_at: Estimate,
    age_bytes: f64,
    /// What was looked at late, and what of it was alive.
    late: [Estimate; 2],
    ages: Censored,
    /// By the sizes.
    least: [Estimate; SIZES.len()],
    most: [Estimate; SIZES.len()],
}

/// On the clock of allocation.
#[derive(Clone, Copy, Debug)]
struct Moments {
    born: f64,
    promoted: Option<f64>,
}

/// What was born young.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// All of it.
    pub young: Tally,
    /// What was promoted.
    pub promoted: Tally,
    /// What of it was found dead by one of the first two major collections after that.
    pub premature: Tally,
}

/// What would be promoted with a larger young heap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Times the present size.
    pub times: u32,
    /// Bytes, most likely.
    pub bytes: f64,
    /// Bytes at least, with a confidence of 97.5 %.
    pub low: f64,
    /// Bytes at most, likewise.
    pub high: f64,
}

impl Promotions {
    /// With a young heap of so many bytes.
    ///
    /// # Panics
    /// If it has none.
    pub fn new(nursery: f64) -> Self {
        assert!(nursery > 0.0, "a young heap has room");
        Self {
            nursery,
            clock: Clock::new(nursery),
            living: FxHashMap::default(),
            nodes: FxHashMap::default(),
            domains: FxHashSet::default(),
            looked_at: Estimate::default(),
            age_bytes: 0.0,
            late: [Estimate::default(); 2],
            ages: Censored::default(),
            least: [Estimate::default(); SIZES.len()],
            most: [Estimate::default(); SIZES.len()],
        }
    }

    /// Bytes of the young heap.
    pub fn nursery(&self) -> f64 {
        self.nursery
    }

    /// Bytes allocated from one minor collection to the next, twice the mean age at a block's first;
    /// nothing if no block met one.
    pub fn measured(&self) -> Option<f64> {
        let mean = self.age_bytes / self.looked_at.value;
        (mean > 0.0 && mean.is_finite()).then_some(2.0 * mean)
    }

    /// How many domains have had young blocks; each has a young heap of its own.
    pub fn domains(&self) -> usize {
        self.domains.len()
    }

    /// By backtrace, in no particular order.
    pub fn sums(&self) -> impl Iterator<Item = (NodeId, Sums)> {
        self.nodes.iter().map(|(&node, &sums)| (node, sums))
    }

    /// Of all backtraces.
    pub fn total(&self) -> Sums {
        let mut total = Sums::default();
        self.nodes.values().for_each(|sums| total += sums);
        total
    }

    /// What larger young heaps would do, when all has been heard; nothing if nothing was promoted.
    pub fn forecasts(&self) -> Vec<Forecast> {
        let total = self.total();
        let (young, promoted) = (total.young.amount().bytes, total.promoted.amount().bytes);
        let Some(curve) = self.ages.curve().filter(|_| promoted.value > 0.0) else {
            return Vec::new();
        };
        let forecast = |(times, (least, most)): (u32, (&Estimate, &Estimate))| {
            let likely = likely(&curve, times) * promoted.value;
            let below = self.most_if_falling(times, &young, &promoted);
            // What is in the young heap at the end is not promoted; it may be full.
            let unfilled = f64::from(times) * self.nursery / self.clock.now();
            let low = least.interval().low * (1.0 - unfilled).max(0.0);
            let high = most.interval().high.min(below).max(least.value);
            Forecast { times, bytes: likely.clamp(least.value, high), low, high }
        };
        SIZES.into_iter().zip(self.least.iter().zip(&self.most)).map(forecast).collect()
    }

    /// The most that is promoted if beyond the young heap no greater part is alive than late in it.
    fn most_if_falling(&self, times: u32, young: &Estimate, promoted: &Estimate) -> f64 {
        let [all, alive] = &self.late;
        if all.value <= 0.0 {
            return f64::INFINITY;
        }
        let (share, beyond) = (alive.value / all.value, 1.0 - 1.0 / f64::from(times));
        let spread = alive.variance * (1.0 - 2.0 * share) + share * share * all.variance;
        let error = spread.max(0.0).sqrt() / all.value;
        let value = promoted.value / f64::from(times) + beyond * young.value * share;
        let error_of_promoted = promoted.variance.sqrt() / f64::from(times);
        // As if all erred in the same direction.
        let error_of_late = beyond * (young.value * error + share * young.variance.sqrt());
        value + Z * (error_of_promoted + error_of_late)
    }

    /// A minor collection met a young block.
    fn look(&mut self, block: &Block, moments: Moments, is_alive: bool) {
        let age = self.clock.now() - moments.born;
        let bytes = block.weight.estimate(block.bytes as f64);
        self.looked_at += bytes;
        self.age_bytes += bytes.value * age;
        if age >= LATE * self.nursery {
            self.late[0] += bytes;
            self.late[1] += if is_alive { bytes } else { Estimate::default() };
        }
        if !is_alive {
            self.ages.add(0.0, self.midway(age, block) / self.nursery, bytes.value);
        }
    }

    /// An age is known to within one sample: in the middle it is right on average.
    fn midway(&self, age: f64, block: &Block) -> f64 {
        age + block.weight.value() * block.bytes as f64 / 2.0
    }

    /// A promoted block died between these moments.
    fn end(&mut self, block: &Block, moments: Moments, lived: f64, died: f64) {
        let promoted = moments.promoted.unwrap_or(moments.born);
        let after = self.midway(promoted - moments.born, block).max(lived - moments.born);
        let until = died - moments.born;
        let bytes = block.weight.value() * block.bytes as f64;
        self.ages.add(after / self.nursery, until / self.nursery, bytes);
        for (at, times) in SIZES.into_iter().enumerate() {
            let part =
                |age: f64| (age.max(self.nursery) / (f64::from(times) * self.nursery)).min(1.0);
            let estimate = |age| block.weight.estimate(block.bytes as f64 * part(age));
            self.least[at] += estimate(lived - moments.born);
            self.most[at] += estimate(until);
        }
    }

    fn sums_of(&mut self, block: &Block) -> &mut Sums {
        self.nodes.entry(block.backtrace).or_default()
    }
}

/// What part of the promoted bytes is so with a heap of so many times the size.
fn likely(curve: &Curve, times: u32) -> f64 {
    let times = f64::from(times);
    let now = curve.area(0.0, 1.0);
    if now > 0.0 { curve.area(0.0, times) / (times * now) } else { 1.0 }
}

impl Observer for Promotions {
    fn born(&mut self, block: &Block) {
        if block.source != Source::Minor {
            return;
        }
        self.clock.tick(block.weight.value() * block.bytes as f64);
        self.domains.insert(block.domain);
        self.sums_of(block).young += &block.tally();
        self.living.insert(block.index, Moments { born: self.clock.now(), promoted: None });
    }

    fn promoted(&mut self, block: &Block) {
        let now = self.clock.now();
        let Some(moments) = self.living.get_mut(&block.index) else { return };
        moments.promoted = Some(now);
        let moments = *moments;
        self.sums_of(block).promoted += &block.tally();
        self.look(block, moments, true);
    }

    fn died(&mut self, block: &Block, _death: Death) {
        let moments = self.living.remove(&block.index);
        match moments {
            None if block.source == Source::Major => drop(self.clock.find_dead()),
            None => {}
            Some(moments @ Moments { promoted: None, .. }) => self.look(block, moments, false),
            Some(moments @ Moments { promoted: Some(promoted), .. }) => {
                let lived = self.clock.find_dead();
                if lived <= promoted {
                    self.sums_of(block).premature += &block.tally();
                }
                self.end(block, moments, lived, self.clock.now());
            }
        }
    }

    fn survived(&mut self, block: &Block, _end: Timestamp) {
        if let Some(moments) = self.living.remove(&block.index)
            && moments.promoted.is_some()
        {
            self.end(block, moments, self.clock.find_alive(), f64::INFINITY);
        }
    }
}

impl Sums {
    /// What part of the young bytes was promoted.
    pub fn promoted_share(&self) -> Proportion {
        share(&self.promoted, &self.young)
    }

    /// What part of the promoted bytes was premature.
    pub fn premature_share(&self) -> Proportion {
        share(&self.premature, &self.promoted)
    }
}

/// The bytes of some of these blocks as a share of those of all.
fn share(some: &Tally, all: &Tally) -> Proportion {
    let (some, all) = (some.amount(), all.amount());
    let value = some.bytes.value / all.bytes.value;
    if !value.is_finite() {
        return Proportion { value: 0.0, effective_samples: 0.0 };
    }
    if all.bytes.variance == 0.0 {
        return Proportion { value, effective_samples: f64::INFINITY };
    }
    let spread = some.bytes.variance * (1.0 - 2.0 * value) + value * value * all.bytes.variance;
    let variance = spread.max(0.0) / (all.bytes.value * all.bytes.value);
    Proportion::new(value, variance, all.samples as f64)
}

impl AddAssign<&Sums> for Sums {
    fn add_assign(&mut self, other: &Sums) {
        self.young += &other.young;
        self.promoted += &other.promoted;
        self.premature += &other.premature;
    }
}

#[cfg(test)]
#[path = "promotion_tests.rs"]
mod tests;
