//! Who allocated: amounts by callsite.
//!
//! A callsite is the innermost place of a backtrace that is not allocation machinery (see
//! [`machinery`](crate::machinery)): not `operator new`, but who called it. Where functions were
//! inlined, the innermost inlined one is looked at first. If all frames are machinery, it is the
//! innermost frame.
//!
//! Places are equal if function, file and line are: two codes may mean the same place, a column
//! more or less does not matter to a reader. Backtraces are merged likewise.

use std::cmp::Reverse;
use std::hash::Hash;

use lifetrace_trace::event::Location;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use crate::account::Balance;
use crate::call_tree::{CallTree, NodeId};
use crate::estimate::{Amount, Tally};
use crate::names::{Frame, Names, Place, expand};

/// What callsites are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// Bytes ever allocated.
    #[default]
    Allocated,
    /// Bytes live at the end.
    Live,
    /// Bytes live when the program had most.
    Peak,
    /// Objects ever allocated.
    Count,
}

impl SortBy {
    /// The number that decides.
    pub fn value(self, callsite: &Callsite<'_>) -> f64 {
        match self {
            Self::Allocated => callsite.allocated.bytes.value,
            Self::Live => callsite.live.bytes.value,
            Self::Peak => callsite.peak.bytes.value,
            Self::Count => callsite.allocated.objects.value,
        }
    }

    fn tally(self, balance: &Balance) -> &Tally {
        match self {
            Self::Allocated | Self::Count => &balance.allocated,
            Self::Live => &balance.live,
            Self::Peak => &balance.peak,
        }
    }

    fn weight(self, balance: &Balance) -> f64 {
        let amount = self.tally(balance).amount();
        if self == Self::Count { amount.objects.value } else { amount.bytes.value }
    }
}

/// The callsites of a trace.
#[derive(Clone, Debug)]
pub struct Callsites<'a, N> {
    /// The greatest first; those that have nothing of what they are ordered by are left out.
    pub callsites: Vec<Callsite<'a>>,
    tree: CallTree,
    names: &'a N,
}

/// What was allocated at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Callsite<'a> {
    /// Where.
    pub place: Place<'a>,
    /// All that was allocated here.
    pub allocated: Amount,
    /// What of it lives at the end.
    pub live: Amount,
    /// What of it lived when the program had most.
    pub peak: Amount,
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

impl<'a, N: Names> Callsites<'a, N> {
    /// The callsites of the backtraces in `tree`, which have these balances.
    pub fn new(
        tree: &CallTree,
        balances: impl Iterator<Item = (NodeId, Balance)>,
        names: &'a N,
        sort: SortBy,
    ) -> Self {
        let representatives = representatives(tree, names);
        let (tree, renumbering) = tree.merged(|code| representatives[&code]);
        let balances = sum_by_key(balances.map(|(node, balance)| (renumbering.of(node), balance)));
        let callsites = order(group(&tree, &balances, names, sort), sort);
        Self { callsites, tree, names }
    }

    /// The lines of a backtrace, innermost first.
    pub fn frames(&self, backtrace: NodeId) -> impl Iterator<Item = Frame<'a>> {
        self.tree.frames(backtrace).flat_map(|code| expand(self.names, code))
    }
}

/// For each code the first one that means the same.
fn representatives(tree: &CallTree, names: &impl Names) -> FxHashMap<LocationCode, LocationCode> {
    let mut representatives = FxHashMap::default();
    let mut by_places = FxHashMap::default();
    for code in tree.codes() {
        representatives.entry(code).or_insert_with(|| {
            let places: Vec<_> = expand(names, code).map(|frame| Key::of(&frame.place)).collect();
            *by_places.entry(places).or_insert(code)
        });
    }
    representatives
}

fn sum_by_key<K: Eq + Hash>(balances: impl Iterator<Item = (K, Balance)>) -> FxHashMap<K, Balance> {
    let mut sums: FxHashMap<K, Balance> = FxHashMap::default();
    balances.for_each(|(key, balance)| *sums.entry(key).or_default() += &balance);
    sums
}

/// A callsite in the making.
struct Group<'a> {
    place: Place<'a>,
    balance: Balance,
    hottest: (f64, Reverse<NodeId>),
    backtraces: usize,
}

fn group<'a>(
    tree: &CallTree,
    balances: &FxHashMap<NodeId, Balance>,
    names: &'a impl Names,
    sort: SortBy,
) -> Vec<Group<'a>> {
    let mut finder = PlaceFinder { names, known: FxHashMap::default() };
    let mut groups: FxHashMap<Key<'a>, Group<'a>> = FxHashMap::default();
    for (&node, balance) in balances {
        let place = finder.callsite(tree, node);
        let group = groups.entry(Key::of(&place)).or_insert_with(|| Group::new(place));
        group.add(node, balance, sort);
    }
    groups.into_values().collect()
}

impl<'a> Group<'a> {
    fn new(place: Place<'a>) -> Self {
        Self {
            place,
            balance: Balance::default(),
            hottest: (f64::NEG_INFINITY, Reverse(NodeId::ROOT)),
            backtraces: 0,
        }
    }

    fn add(&mut self, node: NodeId, balance: &Balance, sort: SortBy) {
        self.balance += balance;
        let candidate = (sort.weight(balance), Reverse(node));
        if candidate > self.hottest {
            self.hottest = candidate;
        }
        self.backtraces += usize::from(!sort.tally(balance).is_empty());
    }

    fn callsite(&self, total: f64, sort: SortBy) -> Callsite<'a> {
        let weight = sort.weight(&self.balance);
        let (hottest, Reverse(backtrace)) = self.hottest;
        Callsite {
            place: self.place,
            allocated: self.balance.allocated.amount(),
            live: self.balance.live.amount(),
            peak: self.balance.peak.amount(),
            share: share(weight, total),
            hottest: Hottest { backtrace, share: share(hottest, weight), of: self.backtraces },
        }
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Finished callsites, in an order that does not depend on how they were hashed.
fn order<'a>(mut groups: Vec<Group<'a>>, sort: SortBy) -> Vec<Callsite<'a>> {
    groups.sort_unstable_by(|a, b| Key::of(&a.place).cmp(&Key::of(&b.place)));
    let total = groups.iter().map(|group| sort.weight(&group.balance)).sum();
    let relevant = groups.iter().filter(|group| !sort.tally(&group.balance).is_empty());
    let mut callsites: Vec<_> = relevant.map(|group| group.callsite(total, sort)).collect();
    callsites.sort_by(|a, b| sort.value(b).total_cmp(&sort.value(a)));
    callsites
}

/// Finds callsites, and asks for each distinct frame only once.
struct PlaceFinder<'a, N> {
    names: &'a N,
    /// The innermost place of a frame that is not machinery, if it has one.
    known: FxHashMap<LocationCode, Option<Place<'a>>>,
}

impl<'a, N: Names> PlaceFinder<'a, N> {
    fn callsite(&mut self, tree: &CallTree, node: NodeId) -> Place<'a> {
        let callsite = tree.frames(node).find_map(|code| self.within(code));
        callsite.unwrap_or_else(|| {
            let innermost = tree.frames(node).flat_map(|code| expand(self.names, code)).next();
            innermost.map_or(Place::NoBacktrace, |frame| frame.place)
        })
    }

    fn within(&mut self, code: LocationCode) -> Option<Place<'a>> {
        *self.known.entry(code).or_insert_with(|| {
            expand(self.names, code).find(|frame| !frame.is_machinery()).map(|frame| frame.place)
        })
    }
}

/// What makes two places equal, and their order where nothing else decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key<'a> {
    Known(&'a str, &'a str, u32),
    Unknown(LocationCode),
    NoBacktrace,
}

impl<'a> Key<'a> {
    fn of(place: &Place<'a>) -> Self {
        match *place {
            Place::Known(Location { defname, filename, line, .. }) => {
                Self::Known(defname, filename, *line)
            }
            Place::Unknown(code) => Self::Unknown(code),
            Place::NoBacktrace => Self::NoBacktrace,
        }
    }
}
