//! Three dumps of one process: what came between the first two and is still there in the third.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lifetrace_human as human;
use lifetrace_report::style::{FAINT, STRONG};
use lifetrace_report::views::Render;
use lifetrace_report::{Cell, Column, Page, Table, Tail};
use lifetrace_snapshot::graph::BlockId;
use lifetrace_snapshot::index::Index;
use serde::Serialize;

use crate::object::Object;
use crate::opened::Opened;

/// What of the third of three dumps was there before: the document.
#[derive(Debug, Serialize)]
pub struct Survivors {
    classes_total: usize,
    /// The first of them, by the bytes of what came between and stayed.
    classes: Vec<Class>,
    /// Of what came between and stayed, the first by what they retain.
    stayed: Vec<Object>,
}

#[derive(Debug, Serialize)]
struct Class {
    class: String,
    /// There in all three.
    old: Amount,
    /// There in the last two, but not in the first.
    stayed: Amount,
    /// There in the third alone.
    new: Amount,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Amount {
    objects: u64,
    bytes: u64,
}

/// A dump that is asked for objects by their addresses and classes.
struct Known<'a> {
    of: &'a Opened,
    index: Index<'a>,
}

impl<'a> Known<'a> {
    fn new(of: &'a Opened) -> Self {
        Self { of, index: Index::of(of.heap.addresses()) }
    }

    /// Whether an object of that class was at that address, and roots held it.
    fn has(&self, address: u64, class: &str) -> bool {
        let Some(at) = self.index.find(address) else { return false };
        let id = self.of.heap.block(at);
        self.of.dominators.is_reachable(id) && self.of.heap.name(id) == class
    }
}

impl Survivors {
    /// Of three dumps, in the order in which they were made, with so many classes and objects.
    pub fn new(first: &Opened, second: &Opened, third: &Opened, top: usize) -> Survivors {
        let (first, second) = (Known::new(first), Known::new(second));
        let mut classes: BTreeMap<&str, [Amount; 3]> = BTreeMap::new();
        let mut stayed: Vec<BlockId> = Vec::new();
        for id in third.heap.graph.blocks().filter(|&id| third.dominators.is_reachable(id)) {
            let class = third.heap.name(id);
            let address = third.heap.address(id).unwrap_or_default();
            let sort = match (first.has(address, class), second.has(address, class)) {
                (true, true) => 0,
                (_, true) => 1,
                (_, false) => 2,
            };
            if sort == 1 {
                stayed.push(id);
            }
            let amount = &mut classes.entry(class).or_default()[sort];
            amount.objects += 1;
            amount.bytes += third.heap.graph.bytes(id);
        }
        stayed.sort_by_key(|&id| (Reverse(third.retained.bytes(id)), id));
        let class = |(class, [old, stayed, new]): (&str, [Amount; 3])| Class {
            class: class.to_owned(),
            old,
            stayed,
            new,
        };
        let mut classes: Vec<Class> = classes.into_iter().map(class).collect();
        classes.sort_by_key(|it| (Reverse(it.stayed.bytes), it.class.clone()));
        let classes_total = classes.len();
        classes.truncate(top);
        let stayed = stayed.iter().take(top).map(|&id| Object::new(third, id)).collect();
        Survivors { classes_total, classes, stayed }
    }
}

impl Render for Survivors {
    fn render(&self, page: &mut Page) {
        let (shown, all) = (self.classes.len(), self.classes_total);
        page.prose("", STRONG, &format!("{shown} of {all} classes, by what came and stayed"));
        let columns = [
            Column::left("came and stayed"),
            Column::left("objects"),
            Column::left("of old").goes(2),
            Column::left("new").goes(1),
        ];
        let mut table = Table::new(columns).with_tails("class");
        let count = |amount: Amount| human::count(amount.objects as f64);
        for class in &self.classes {
            let bytes = human::bytes(class.stayed.bytes as f64);
            let cells = [bytes, count(class.stayed), count(class.old), count(class.new)];
            table.row(cells.map(Cell::from), Tail::Text { indent: 0, text: class.class.clone() });
        }
        page.table(&table);
        crate::list::list(page, "What of it retains most", &self.stayed, false);
        page.line("");
        let text = "came and stayed: objects that were not in the first dump, and are in both others, at the same address and \
            of the same class. of old: in all three. new: in the third alone.";
        page.prose("", FAINT, text);
    }
}
