//! What has become more and what less between two dumps of one process.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use lifetrace_human as human;
use lifetrace_report::style::{FAINT, PLAIN, STRONG};
use lifetrace_report::views::Render;
use lifetrace_report::{Cell, Column, Page, Table, Tail};
use lifetrace_snapshot::graph::BlockId;
use lifetrace_snapshot::index::Index;
use serde::Serialize;

use crate::kinds::{Sums, sums};
use crate::opened::Opened;

/// What has changed between two dumps: the document.
#[derive(Debug, Serialize)]
pub struct Diff {
    before: Total,
    after: Total,
    classes_total: usize,
    /// The first of those that have changed, by how much their bytes have.
    classes: Vec<Class>,
}

#[derive(Debug, Serialize)]
struct Total {
    objects: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct Class {
    class: String,
    before: Amount,
    after: Amount,
    /// How many of those after were at the same address before, and of the same class: most of them the same objects.
    kept_objects: u64,
    /// After less before.
    bytes_change: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Amount {
    objects: u64,
    bytes: u64,
    retained_bytes: u64,
}

impl Diff {
    /// Of two dumps, with so many classes.
    pub fn new(before: &Opened, after: &Opened, top: usize) -> Diff {
        let [old, new] = [before, after].map(by_class);
        let kept = kept(before, after);
        let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
        let mut classes: Vec<_> = names
            .into_iter()
            .map(|name| {
                let of = |amounts: &BTreeMap<&str, Amount>| {
                    amounts.get(name).copied().unwrap_or_default()
                };
                Class::new(name, of(&old), of(&new), kept.get(name).copied().unwrap_or_default())
            })
            .filter(|class| class.before != class.after)
            .collect();
        classes.sort_by_key(|class| (Reverse(class.bytes_change.abs()), class.class.clone()));
        let classes_total = classes.len();
        classes.truncate(top);
        Diff { before: Total::of(before), after: Total::of(after), classes_total, classes }
    }
}

impl Total {
    fn of(opened: &Opened) -> Total {
        let objects = u64::from(opened.retained.blocks(BlockId::ALL_ROOTS));
        Total { objects, bytes: opened.reachable_bytes() }
    }
}

impl Class {
    fn new(name: &str, before: Amount, after: Amount, kept_objects: u64) -> Class {
        let bytes_change = after.bytes as i64 - before.bytes as i64;
        Class { class: name.to_owned(), before, after, kept_objects, bytes_change }
    }

    fn row(&self) -> [Cell; 5] {
        let objects = self.after.objects as i64 - self.before.objects as i64;
        let retained = self.after.retained_bytes as i64 - self.before.retained_bytes as i64;
        let count = |count: u64| human::count(count as f64);
        let cells = [
            signed(self.bytes_change, human::bytes),
            signed(objects, human::count),
            count(self.after.objects),
            count(self.kept_objects),
            signed(retained, human::bytes),
        ];
        cells.map(Cell::from)
    }
}

fn by_class(of: &Opened) -> BTreeMap<&str, Amount> {
    let (sums, _) = sums(of);
    let all = sums.into_iter().zip(&of.heap.kinds).filter(|(sums, _)| sums.objects > 0);
    let amount =
        |Sums { objects, bytes, retained_bytes }| Amount { objects, bytes, retained_bytes };
    all.map(|(sums, name)| (&**name, amount(sums))).collect()
}

/// By class, how many objects of the second are where one of the same class was in the first.
fn kept<'a>(before: &Opened, after: &'a Opened) -> BTreeMap<&'a str, u64> {
    let (mut kept, index) = (BTreeMap::new(), Index::of(before.heap.addresses()));
    for id in after.heap.graph.blocks().filter(|&id| after.dominators.is_reachable(id)) {
        let address = after.heap.address(id);
        let old = address.and_then(|it| index.find(it)).map(|at| before.heap.block(at));
        let name = after.heap.name(id);
        if old
            .is_some_and(|old| before.dominators.is_reachable(old) && before.heap.name(old) == name)
        {
            *kept.entry(name).or_default() += 1;
        }
    }
    kept
}

fn signed(value: i64, shown: impl Fn(f64) -> String) -> String {
    match value {
        0 => "0".to_owned(),
        1.. => format!("+{}", shown(value as f64)),
        _ => format!("-{}", shown(value.unsigned_abs() as f64)),
    }
}

impl Render for Diff {
    fn render(&self, page: &mut Page) {
        let total = |total: &Total| {
            format!(
                "{} objects, {}",
                human::count(total.objects as f64),
                human::bytes(total.bytes as f64)
            )
        };
        let text = format!(
            "Roots held {} before, and hold {} after.",
            total(&self.before),
            total(&self.after)
        );
        page.prose("", PLAIN, &text);
        page.line("");
        if self.classes.is_empty() {
            return page.prose("", STRONG, "No class has changed.");
        }
        let (shown, all) = (self.classes.len(), self.classes_total);
        page.prose("", STRONG, &format!("{shown} of {all} classes that have changed, by bytes"));
        let columns = [
            Column::left("bytes"),
            Column::left("objects"),
            Column::left("then").goes(3),
            Column::left("of them kept").goes(2),
            Column::left("retained").goes(1),
        ];
        let mut table = Table::new(columns).with_tails("class");
        for class in &self.classes {
            table.row(class.row(), Tail::Text { indent: 0, text: class.class.clone() });
        }
        page.table(&table);
        page.line("");
        let text = "kept: at the same address, and of the same class, as before; all others have come since. \
            retained: by how much that which would go with the class has changed.";
        page.prose("", FAINT, text);
    }
}
