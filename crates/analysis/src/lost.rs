//! What was lost: blocks to which nothing pointed when the process's memory was looked through, by callsite; and what
//! pointed to the others.

use std::sync::Arc;

use lifetrace_trace::fact::{Fact, Holder as Pointer};
use lifetrace_trace::ids::Timestamp;
use rustc_hash::FxHashMap;

use crate::account::Balance;
use crate::call_tree::NodeId;
use crate::estimate::{Amount, Tally};
use crate::history::Block;
use crate::replay::Observer;
use crate::sites::{SiteId, Sites};
use crate::statistics::Proportion;

/// Observes what a look has found, of a trace's last look.
pub struct Lost<'s, 'a> {
    sites: &'s Sites<'a>,
    of_site: FxHashMap<SiteId, Found>,
    of_backtrace: FxHashMap<NodeId, Tally>,
}

/// What has a pointer to blocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
    /// A variable, by its name.
    Variable(Arc<str>),
    /// Blocks that were allocated at this callsite.
    Site(SiteId),
    /// The kernel, which gives the pointer back with an event.
    Kernel,
    /// A thread, by its name.
    Thread(Arc<str>),
    /// Memory that is mapped from this file, or shared.
    File(Arc<str>),
    /// Memory of which no more is known.
    Memory,
}

/// What was found of a callsite's blocks, in the making.
#[derive(Clone, Debug, Default)]
struct Found {
    lost: Tally,
    with_others: Tally,
    held: Tally,
    by: FxHashMap<Holder, Tally>,
}

/// What was found of a callsite's blocks that lived.
#[derive(Clone, Debug)]
pub struct Fate {
    /// The callsite.
    pub site: SiteId,
    /// Those that are lost.
    pub lost: Amount,
    /// Those of the lost ones that have a pointer to them, in others that are lost.
    pub with_others: Amount,
    /// The part of the bytes that is lost.
    pub share: Proportion,
    /// Those that are not lost, by what points to them: that which has most first.
    pub held: Vec<(Holder, Amount)>,
}

impl<'s, 'a> Lost<'s, 'a> {
    /// Of nothing yet.
    pub fn new(sites: &'s Sites<'a>) -> Self {
        Self { sites, of_site: FxHashMap::default(), of_backtrace: FxHashMap::default() }
    }

    /// When all has been heard: what was found of each callsite, and of all together. Who has lost most comes first.
    pub fn judge(self) -> Fates {
        let mut all = Found::default();
        self.of_site.values().for_each(|found| all.add(found));
        let mut fates: Vec<_> =
            self.of_site.iter().map(|(&site, found)| found.fate(site)).collect();
        fates.sort_by(|one, other| {
            let by_size = other.lost.bytes.value.total_cmp(&one.lost.bytes.value);
            by_size.then(one.site.cmp(&other.site))
        });
        let of_backtraces = self.of_backtrace.into_iter().collect();
        Fates { lost: all.lost().amount(), share: all.share(), of_sites: fates, of_backtraces }
    }
}

/// What was found of all blocks that lived.
#[derive(Clone, Debug)]
pub struct Fates {
    /// What is lost.
    pub lost: Amount,
    /// The part of the bytes that is.
    pub share: Proportion,
    /// By callsite; who has lost most comes first.
    pub of_sites: Vec<Fate>,
    of_backtraces: Vec<(NodeId, Tally)>,
}

impl Fates {
    /// What is lost, by backtrace, as if nothing else lived.
    pub fn balances(&self) -> impl Iterator<Item = (NodeId, Balance)> {
        let balance = |lost: Tally| Balance { live: lost, ..Balance::default() };
        self.of_backtraces.iter().map(move |&(node, lost)| (node, balance(lost)))
    }
}

impl Found {
    fn lost(&self) -> Tally {
        let mut lost = self.lost;
        lost += &self.with_others;
        lost
    }

    fn add(&mut self, other: &Found) {
        self.lost += &other.lost;
        self.with_others += &other.with_others;
        self.held += &other.held;
    }

    /// The ratio of two sums, of which one is a part of the other.
    fn share(&self) -> Proportion {
        let [lost, held] = [self.lost().amount(), self.held.amount()];
        let total = lost.bytes.value + held.bytes.value;
        let value = if total > 0.0 { lost.bytes.value / total } else { 0.0 };
        let variance =
            (1.0 - value).powi(2) * lost.bytes.variance + value.powi(2) * held.bytes.variance;
        let is_exact = lost.bytes.variance + held.bytes.variance == 0.0;
        let samples = (lost.samples + held.samples) as f64;
        let samples = if is_exact { f64::INFINITY } else { samples };
        let spread = if total > 0.0 { variance / total.powi(2) } else { 0.0 };
        Proportion::new(value, spread, samples)
    }

    fn fate(&self, site: SiteId) -> Fate {
        let by = self.by.iter().map(|(holder, tally)| (holder.clone(), tally.amount()));
        let mut held: Vec<_> = by.collect();
        held.sort_by(|one, other| {
            other.1.bytes.value.total_cmp(&one.1.bytes.value).then(one.0.cmp(&other.0))
        });
        Fate {
            site,
            lost: self.lost().amount(),
            with_others: self.with_others.amount(),
            share: self.share(),
            held,
        }
    }
}

impl Lost<'_, '_> {
    /// `None` if the blocks of the holder were left out.
    fn holder(&self, pointer: &Pointer, holder: Option<&Block>) -> Holder {
        match pointer {
            Pointer::Variable(name) => Holder::Variable(Arc::clone(name)),
            Pointer::Thread(name) => Holder::Thread(Arc::clone(name)),
            Pointer::File(name) => Holder::File(Arc::clone(name)),
            Pointer::Kernel => Holder::Kernel,
            Pointer::Block(_) => {
                let site = holder.and_then(|block| self.sites.of(block.backtrace));
                site.map_or(Holder::Memory, Holder::Site)
            }
            Pointer::Nothing | Pointer::Lost | Pointer::Memory => Holder::Memory,
        }
    }
}

impl Observer for Lost<'_, '_> {
    fn fact(&mut self, _: Timestamp, fact: &Fact) {
        if matches!(fact, Fact::Looked(_)) {
            self.of_site.clear();
            self.of_backtrace.clear();
        }
    }

    fn held(&mut self, block: &Block, pointer: &Pointer, holder: Option<&Block>) {
        let Some(site) = self.sites.of(block.backtrace) else { return };
        let holder = self.holder(pointer, holder);
        let found = self.of_site.entry(site).or_default();
        let tally = block.tally();
        if pointer.is_lost() {
            *self.of_backtrace.entry(block.backtrace).or_default() += &tally;
        }
        match pointer {
            Pointer::Nothing => found.lost += &tally,
            Pointer::Lost => found.with_others += &tally,
            _ => {
                found.held += &tally;
                *found.by.entry(holder).or_default() += &tally;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Weight;

    fn found(lost: &[Weight], held: &[Weight]) -> Found {
        let mut found = Found::default();
        lost.iter().for_each(|weight| found.lost += &weight.tally(8));
        held.iter().for_each(|weight| found.held += &weight.tally(8));
        found
    }

    #[test]
    fn shares_are_as_sure_as_the_samples_are_many() {
        let seldom = Weight::of_inclusion(1e-3);
        let few = found(&[seldom; 2], &[seldom; 2]).share();
        let many = found(&[seldom; 200], &[seldom; 200]).share();
        assert_eq!((few.value, many.value), (0.5, 0.5));
        let width = |share: Proportion| share.interval95().1 - share.interval95().0;
        assert!(width(few) > 0.6 && width(many) < 0.11, "{few:?} {many:?}");
    }

    #[test]
    fn what_is_exact_is_certain() {
        let share = found(&[Weight::ONE; 3], &[Weight::ONE]).share();
        assert_eq!((share.value, share.interval95()), (0.75, (0.75, 0.75)));
        assert_eq!(found(&[Weight::ONE], &[]).share().interval95(), (1.0, 1.0));
        // All of two samples is not all.
        let seldom = Weight::of_inclusion(1e-3);
        assert!(found(&[seldom; 2], &[]).share().interval95().0 < 0.5);
    }
}
