//! Who allocated how much: amounts by [callsite](crate::sites).

use std::cmp::Reverse;
use std::ops::AddAssign;

use rustc_hash::FxHashMap;

use crate::account::Balance;
use crate::call_tree::NodeId;
use crate::estimate::{Amount, Estimate};
use crate::metric::Metric;
use crate::names::{NamedFrame, Place};
use crate::sites::{SiteId, Sites};

/// The callsites of a trace.
#[derive(Clone, Debug)]
pub struct Callsites<'a> {
    /// The greatest first; those that have nothing of what they are ordered by are left out.
    pub callsites: Vec<Callsite<'a>>,
    /// What all of them have of it.
    pub total: Estimate,
    sites: Sites<'a>,
}

/// What was allocated at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Callsite<'a> {
    /// Its number.
    pub site: SiteId,
    /// Where.
    pub place: Place<'a>,
    /// What callsites are ordered by.
    pub value: Estimate,
    /// All that was allocated here.
    pub allocated: Amount,
    /// What of it lives at the end.
    pub live: Amount,
    /// What of it lived when the program had most.
    pub peak: Amount,
    /// Each byte of it, times the seconds that it lived.
    pub byte_seconds: Estimate,
    /// Its part, between 0 and 1, of what callsites are ordered by.
    pub share: f64,
    /// The backtrace that has most of that.
    pub hottest: Hottest,
}

/// One backtrace of a callsite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hottest {
    /// Its name for [`Callsites::frames`].
    pub backtrace: NodeId,
    /// Its part, between 0 and 1, of the callsite.
    pub share: f64,
    /// How many different backtraces the callsite has.
    pub of: usize,
}

impl<'a> Callsites<'a> {
    /// The callsites of the backtraces that have these balances.
    pub fn new(
        sites: Sites<'a>,
        balances: impl Iterator<Item = (NodeId, Balance)>,
        metric: Metric,
    ) -> Self {
        let mut by_look: FxHashMap<NodeId, (NodeId, Balance)> = FxHashMap::default();
        for (node, balance) in balances {
            let Some(look) = sites.shaped().of(node) else { continue };
            by_look.entry(look).or_insert((node, Balance::default())).1 += &balance;
        }
        let candidates = by_look
            .into_iter()
            .map(|(look, (node, balance))| (node, Group::new(look, balance, metric)));
        let groups = sites.group(candidates);
        let total = groups.iter().fold(Estimate::default(), |mut total, (_, group)| {
            total += metric.of(&group.balance);
            total
        });
        let relevant = groups.iter().filter(|(_, group)| !metric.tally(&group.balance).is_empty());
        let mut callsites: Vec<_> = relevant
            .map(|(site, group)| group.callsite(*site, sites.place(*site), total.value, metric))
            .collect();
        callsites.sort_by(|a, b| b.value.value.total_cmp(&a.value.value));
        Self { callsites, total, sites }
    }

    /// The lines of a backtrace, innermost first.
    pub fn frames(&self, backtrace: NodeId) -> impl Iterator<Item = NamedFrame<'a>> {
        self.sites.shaped().frames(backtrace)
    }
}

/// Some of a callsite's backtraces.
#[derive(Default)]
struct Group {
    balance: Balance,
    /// The one that has most.
    hottest: Option<(f64, Reverse<NodeId>)>,
    backtraces: usize,
}

impl Group {
    fn new(backtrace: NodeId, balance: Balance, metric: Metric) -> Self {
        let hottest = Some((metric.of(&balance).value, Reverse(backtrace)));
        let backtraces = usize::from(!metric.tally(&balance).is_empty());
        Self { balance, hottest, backtraces }
    }

    fn callsite<'a>(
        &self,
        site: SiteId,
        place: Place<'a>,
        total: f64,
        metric: Metric,
    ) -> Callsite<'a> {
        let value = metric.of(&self.balance);
        let (hottest, Reverse(backtrace)) = self.hottest.unwrap_or((0.0, Reverse(NodeId::ROOT)));
        Callsite {
            site,
            place,
            value,
            allocated: self.balance.allocated.amount(),
            live: self.balance.live.amount(),
            peak: self.balance.peak.amount(),
            byte_seconds: self.balance.lives.byte_seconds,
            share: share(value.value, total),
            hottest: Hottest { backtrace, share: share(hottest, value.value), of: self.backtraces },
        }
    }
}

impl AddAssign<&Group> for Group {
    fn add_assign(&mut self, other: &Group) {
        self.balance += &other.balance;
        if other.hottest > self.hottest {
            self.hottest = other.hottest;
        }
        self.backtraces += other.backtraces;
    }
}

/// `part` of `whole`; none of nothing.
pub fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
