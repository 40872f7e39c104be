//! Which classes objects are of, where a runtime says it.
//!
//! An object's class is the innermost frame of its backtrace ([`class_of`]), so what each backtrace has is
//! added up by that.

use lifetrace_trace::event::class_of;
use rustc_hash::FxHashMap;

use crate::account::Balance;
use crate::call_tree::{NodeId, Tree};
use crate::estimate::{Estimate, Tally};
use crate::metric::Metric;
use crate::names::{Names, Place};
use crate::sites::{SiteId, Sites};
use lifetrace_trace::ids::LocationCode;

/// What the objects of a class have.
#[derive(Clone, Debug, PartialEq)]
pub struct Class<'a> {
    /// Its name; none is all blocks that are of no class.
    pub name: Option<&'a str>,
    /// What classes are ordered by.
    pub value: Estimate,
    /// All that they have.
    pub balance: Balance,
    /// What they took in the end, where that was measured.
    pub held: Option<Tally>,
    /// The callsite that has most of that value.
    pub callsite: Place<'a>,
    /// The value that this callsite has.
    pub of_callsite: Estimate,
}

#[derive(Default)]
struct Sums {
    balance: Balance,
    held: Option<Tally>,
    by_site: FxHashMap<SiteId, Balance>,
}

/// The classes of the backtraces that have these balances, the greatest by `metric` first; those that have
/// nothing of it are left out. `held` is what the blocks of a backtrace took in the end.
pub fn classes<'a>(
    tree: &Tree<LocationCode>,
    names: &'a impl Names,
    sites: &Sites<'a>,
    balances: impl Iterator<Item = (NodeId, Balance)>,
    held: impl Fn(NodeId) -> Option<Tally>,
    metric: Metric,
) -> Vec<Class<'a>> {
    let mut sums: FxHashMap<Option<&str>, Sums> = FxHashMap::default();
    for (node, balance) in balances {
        let Some(site) = sites.of(node) else { continue };
        let sums = sums.entry(class(tree, names, node)).or_default();
        sums.balance += &balance;
        if let Some(tally) = held(node) {
            *sums.held.get_or_insert_default() += &tally;
        }
        *sums.by_site.entry(site).or_default() += &balance;
    }
    let found = sums.into_iter().filter(|(_, sums)| !metric.tally(&sums.balance).is_empty());
    let mut classes: Vec<_> = found.map(|(name, sums)| sums.class(name, sites, metric)).collect();
    classes.sort_by(|a, b| b.value.value.total_cmp(&a.value.value).then(a.name.cmp(&b.name)));
    classes
}

/// The class of what has been allocated with this backtrace.
pub fn class<'a>(
    tree: &Tree<LocationCode>,
    names: &'a impl Names,
    node: NodeId,
) -> Option<&'a str> {
    let (_, innermost) = tree.parent(node)?;
    names.locations(innermost).first().and_then(class_of)
}

impl Sums {
    fn class<'a>(self, name: Option<&'a str>, sites: &Sites<'a>, metric: Metric) -> Class<'a> {
        let by_site = self.by_site.iter().map(|(&site, balance)| (site, metric.of(balance)));
        let most = by_site.max_by(|a, b| a.1.value.total_cmp(&b.1.value).then(b.0.cmp(&a.0)));
        let (callsite, of_callsite) = most
            .map_or((Place::NoBacktrace, Estimate::default()), |(site, value)| {
                (sites.place(site), value)
            });
        let value = metric.of(&self.balance);
        Class { name, value, balance: self.balance, held: self.held, callsite, of_callsite }
    }
}
