//! What would go with what: the tree of dominators, as far as it matters.

use std::borrow::Cow;
use std::cmp::Reverse;

use lifetrace_human as human;
use lifetrace_report::style::{FAINT, NAME, PLAIN, STRONG};
use lifetrace_report::views::Render;
use lifetrace_report::{Branching, Page};
use lifetrace_snapshot::graph::BlockId;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::object::Object;
use crate::opened::Opened;
use crate::steps::slot_of_thread;

/// What retains less than this part of all is not shown by itself.
const LEAST_SHARE: f64 = 0.01;

/// No more levels are shown.
const DEEPEST: usize = 24;

/// More levels are not in documents that are to have as much as fits.
const DEEPEST_OF_MOST: usize = 64;

/// What retains most, and what retains most within that: the document of the view.
#[derive(Debug, Serialize)]
pub struct Retainers {
    /// What all roots hold.
    bytes: u64,
    retainers: Vec<Retainer>,
    /// What only several roots together hold beside these, by class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<Others>,
}

#[derive(Debug, Serialize)]
struct Retainer {
    #[serde(flatten)]
    object: Object,
    /// What holds it, of one that a root refers to and that has a name: a variable, a frame.
    #[serde(skip_serializing_if = "String::is_empty")]
    slot: String,
    /// Of what all roots hold.
    share: f64,
    /// What it retains, by what retains most of that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retainers: Vec<Retainer>,
    /// The objects that it immediately retains beside these, by class, or by type where that is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<Others>,
}

/// Objects of a class that one object immediately retains.
#[derive(Debug, Serialize)]
struct Others {
    class: String,
    objects: u64,
    /// By all of them together; they do not overlap.
    retained_bytes: u64,
    share: f64,
}

/// How much of the tree is wanted.
struct Limits {
    least: u64,
    top: usize,
    deepest: usize,
    all: u64,
}

impl Retainers {
    /// Of a heap, with so many at each level.
    pub fn new(of: &Opened, top: usize) -> Retainers {
        let all = of.reachable_bytes();
        let least = (all as f64 * LEAST_SHARE).ceil() as u64;
        Self::within(of, &Limits { least, top, deepest: DEEPEST, all })
    }

    /// Of a heap, with about so many objects in all: those that retain most. What the others retain is summed up.
    pub fn of_most(of: &Opened, objects: usize) -> Retainers {
        let all = of.reachable_bytes();
        let mut sizes: Vec<_> = of.heap.graph.blocks().map(|id| of.retained.bytes(id)).collect();
        sizes.sort_unstable_by_key(|&bytes| Reverse(bytes));
        let least = sizes.get(objects).map_or(1, |bytes| bytes + 1);
        Self::within(of, &Limits { least, top: objects, deepest: DEEPEST_OF_MOST, all })
    }

    fn within(of: &Opened, limits: &Limits) -> Retainers {
        let (retainers, others) = limits.within(of, BlockId::ALL_ROOTS, 0);
        Retainers { bytes: limits.all, retainers, others }
    }
}

impl Limits {
    fn share(&self, bytes: u64) -> f64 {
        if self.all > 0 { bytes as f64 / self.all as f64 } else { 0.0 }
    }

    fn within(&self, of: &Opened, parent: BlockId, level: usize) -> (Vec<Retainer>, Vec<Others>) {
        let bytes = |id: &BlockId| of.retained.bytes(*id);
        let mut children = of.tree.children(parent).to_vec();
        children.sort_by_key(|id| (Reverse(bytes(id)), *id));
        let is_shown = |id: &&BlockId| bytes(id) >= self.least.max(1);
        let shown = children.iter().take(self.top).take_while(is_shown).count();
        let shown = if level < self.deepest { shown } else { 0 };
        let (shown, others) = children.split_at(shown);
        let retainer = |&id: &BlockId| {
            let (retainers, others) = self.within(of, id, level + 1);
            let share = self.share(of.retained.bytes(id));
            let slot = if of.heap.graph.is_root(parent) {
                slot_of_thread(&of.heap, parent, id)
            } else {
                String::new()
            };
            Retainer { object: Object::new(of, id), slot, share, retainers, others }
        };
        (shown.iter().map(retainer).collect(), self.others(of, others))
    }

    /// The greatest of them, by class.
    fn others(&self, of: &Opened, ids: &[BlockId]) -> Vec<Others> {
        let mut sums: FxHashMap<Cow<'_, str>, (u64, u64)> = FxHashMap::default();
        for &id in ids {
            let (objects, bytes) = sums.entry(of.look(id)).or_default();
            *objects += 1;
            *bytes += of.retained.bytes(id);
        }
        let mut sums: Vec<_> =
            sums.into_iter().filter(|(_, sum)| sum.1 >= self.least.max(1)).collect();
        sums.sort_by(|(a, (_, of_a)), (b, (_, of_b))| of_b.cmp(of_a).then_with(|| a.cmp(b)));
        let others = sums.into_iter().take(self.top).map(|(class, (objects, retained_bytes))| {
            let share = self.share(retained_bytes);
            Others { class: class.into_owned(), objects, retained_bytes, share }
        });
        others.collect()
    }
}

impl Retainer {
    fn name(&self) -> String {
        match self.slot.as_str() {
            "" => self.object.name(),
            slot => format!("{slot}: {}", self.object.name()),
        }
    }

    fn rows(&self, level: usize, rows: &mut Vec<Branching>) {
        rows.push(Branching {
            amount: amount(self.object.retained_bytes, self.share),
            amount_style: PLAIN,
            level,
            name: self.name(),
            source: self.object.place(),
            style: NAME,
        });
        self.retainers.iter().for_each(|retainer| retainer.rows(level + 1, rows));
        rows.extend(self.others.iter().map(|others| others.row(level + 1)));
    }
}

impl Others {
    fn row(&self, level: usize) -> Branching {
        Branching {
            amount: amount(self.retained_bytes, self.share),
            amount_style: PLAIN,
            level,
            name: format!("{} × {}", human::count(self.objects as f64), self.class),
            source: String::new(),
            style: FAINT,
        }
    }
}

fn amount(bytes: u64, share: f64) -> String {
    format!("{:>7}  {}", human::percent(share), human::bytes(bytes as f64))
}

impl Render for Retainers {
    fn render(&self, page: &mut Page) {
        let all = human::bytes(self.bytes as f64);
        page.prose("", STRONG, &format!("What would go with what, of the {all} that roots hold"));
        page.line("");
        let mut rows = Vec::new();
        self.retainers.iter().for_each(|retainer| retainer.rows(0, &mut rows));
        rows.extend(self.others.iter().map(|others| others.row(0)));
        page.branches(&rows);
        page.line("");
        let text = "Each line has what would go if that object went: itself, and what it alone holds. \
            An object that is held in several ways is below the first that all of them have in common.";
        page.prose("", FAINT, text);
    }
}
