//! Callsites: who asked for memory.
//!
//! A callsite is the innermost line of a backtrace that is not allocation machinery (see
//! [`machinery`](crate::machinery)): not `operator new`, but who called it. Where functions were
//! inlined, the innermost inlined one is looked at first. If all lines are machinery, it is the
//! innermost one.

use std::ops::AddAssign;

use rustc_hash::FxHashMap;

use crate::call_tree::NodeId;
use crate::names::{Place, Reason};
use crate::shape::{Key, Shaped};

/// A callsite, by its number in [`Sites`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteId(u32);

impl SiteId {
    /// Its number, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The callsite of each backtrace.
#[derive(Clone, Debug)]
pub struct Sites<'a> {
    shaped: Shaped<'a>,
    places: Vec<Place<'a>>,
    /// By the number of the shaped tree's node: its callsite, and the backtrace that ends there.
    of: Vec<(SiteId, NodeId)>,
}

impl<'a> Sites<'a> {
    /// Those of these backtraces.
    pub fn new(shaped: Shaped<'a>) -> Self {
        let mut register = Register::default();
        let site_of_line: Vec<_> = shaped.lines().map(|line| register.id(line.place)).collect();
        let mut of = vec![(register.id(Place::NoBacktrace), NodeId::ROOT)];
        let mut reasons = vec![Reason::default()];
        for (node, parent, line) in shaped.tree().nodes() {
            let mut reason = reasons[parent.index()];
            let is_now = reason.is_now(&shaped.line(line));
            reasons.push(reason);
            of.push(if is_now { (site_of_line[line.index()], node) } else { of[parent.index()] });
        }
        Self { shaped, places: register.places, of }
    }

    /// The callsite of a backtrace of the trace; nothing if the backtrace was left out.
    pub fn of(&self, node: NodeId) -> Option<SiteId> {
        self.shaped.of(node).map(|node| self.of[node.index()].0)
    }

    /// A shaped backtrace without the lines below its callsite.
    pub fn begin(&self, node: NodeId) -> NodeId {
        self.of[node.index()].1
    }

    /// Where it is.
    pub fn place(&self, site: SiteId) -> Place<'a> {
        self.places[site.index()]
    }

    /// Where each is, by its number.
    pub fn places(&self) -> &[Place<'a>] {
        &self.places
    }

    /// The backtraces as they look.
    pub fn shaped(&self) -> &Shaped<'a> {
        &self.shaped
    }

    /// What was found by backtraces, added up by callsites, in an order that depends on their names
    /// only.
    pub fn group<T: Default + for<'t> AddAssign<&'t T>>(
        &self,
        found: impl IntoIterator<Item = (NodeId, T)>,
    ) -> Vec<(SiteId, T)> {
        let mut sums: FxHashMap<SiteId, T> = FxHashMap::default();
        for (node, what) in found {
            if let Some(site) = self.of(node) {
                *sums.entry(site).or_default() += &what;
            }
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_unstable_by_key(|&(site, _)| Key::of(&self.place(site)));
        sums
    }
}

/// Callsites that have been met.
#[derive(Default)]
struct Register<'a> {
    places: Vec<Place<'a>>,
    ids: FxHashMap<Key<'a>, SiteId>,
}

impl<'a> Register<'a> {
    fn id(&mut self, place: Place<'a>) -> SiteId {
        *self.ids.entry(Key::of(&place)).or_insert_with(|| {
            self.places.push(place);
            SiteId(u32::try_from(self.places.len() - 1).expect("2^32 sites do not fit in memory"))
        })
    }
}
