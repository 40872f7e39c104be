//! Which kinds of objects there are, and which roots hold them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lifetrace_human as human;
use lifetrace_report::style::{FAINT, PLAIN, STRONG};
use lifetrace_report::views::Render;
use lifetrace_report::{Cell, Column, Page, Table, Tail};
use lifetrace_snapshot::graph::BlockId;
use serde::Serialize;

use crate::facts::Facts;
use crate::kinds::{Sums, sums};
use crate::opened::Opened;

/// No more roots than that have a line of their own on a page.
const MOST_ROOTS: usize = 30;

/// What a heap consists of: the document of the view.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Not of another program's dump.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<Facts>,
    objects: u64,
    bytes: u64,
    references: usize,
    /// What no root holds any more, and nobody has freed yet.
    garbage_objects: u64,
    garbage_bytes: u64,
    /// What objects take elsewhere, beside the heap.
    #[serde(skip_serializing_if = "Option::is_none")]
    outside_bytes: Option<u64>,
    /// References to objects that the file does not have.
    missing_references: u64,
    /// What each root alone holds.
    roots: Vec<Root>,
    /// What several roots hold together, and none of them alone.
    shared_bytes: u64,
    /// What roots hold, by the size of objects, from the smallest on.
    sizes: Vec<Size>,
    classes_total: usize,
    /// The first of them, by their bytes.
    classes: Vec<Class>,
}

#[derive(Debug, Serialize)]
struct Root {
    root: String,
    bytes: u64,
    objects: u32,
}

#[derive(Debug, Serialize)]
struct Class {
    class: String,
    objects: u64,
    bytes: u64,
    /// Of all that roots hold.
    share: f64,
    /// What would go with them.
    retained_bytes: u64,
}

/// Objects that are larger than those of the size before.
#[derive(Debug, Serialize)]
struct Size {
    up_to_bytes: u64,
    objects: u64,
    bytes: u64,
}

impl Size {
    /// Of all that roots hold: sizes up to 16 bytes, 32, 64 and so on.
    fn all(of: &Opened) -> Vec<Size> {
        let mut sizes: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
        for id in of.heap.graph.blocks().filter(|&id| of.dominators.is_reachable(id)) {
            let bytes = of.heap.graph.bytes(id);
            let up_to = bytes.max(16).checked_next_power_of_two().unwrap_or(u64::MAX);
            let [objects, sum] = sizes.entry(up_to).or_default();
            *objects += 1;
            *sum = sum.saturating_add(bytes);
        }
        let size =
            |(up_to_bytes, [objects, bytes]): (u64, [u64; 2])| Size { up_to_bytes, objects, bytes };
        sizes.into_iter().map(size).collect()
    }
}

impl Summary {
    /// Of a heap, with so many classes.
    pub fn new(of: &Opened, top: usize) -> Summary {
        let (sums, [garbage_objects, garbage_bytes]) = sums(of);
        let (all, graph) = (of.reachable_bytes(), &of.heap.graph);
        let mut classes: Vec<_> = sums.into_iter().zip(&of.heap.kinds).collect();
        classes.retain(|(sums, _)| sums.objects > 0);
        classes.sort_by_key(|(sums, name)| (Reverse(sums.bytes), name.to_string()));
        let mut roots: Vec<_> = graph.roots().map(|id| Root::new(of, id)).collect();
        roots.sort_by_key(|root| Reverse(root.bytes));
        let alone: u64 = roots.iter().map(|root| root.bytes).sum();
        let outside = |id| of.heap.shape(id).map_or(0, |shape| shape.outside);
        let held = graph.blocks().filter(|&id| of.dominators.is_reachable(id));
        let outside = held.fold(0u64, |sum, id| sum.saturating_add(outside(id)));
        Summary {
            snapshot: of.origin.as_ref().filter(|it| !it.is_import()).map(Facts::of),
            outside_bytes: Some(outside).filter(|&bytes| bytes > 0),
            sizes: Size::all(of),
            objects: u64::from(of.retained.blocks(BlockId::ALL_ROOTS)),
            bytes: all,
            references: graph.reference_count(),
            garbage_objects,
            garbage_bytes,
            missing_references: of.missing,
            roots,
            shared_bytes: all.saturating_sub(alone),
            classes_total: classes.len(),
            classes: classes
                .iter()
                .take(top)
                .map(|(sums, name)| Class::new(sums, name, all))
                .collect(),
        }
    }
}

impl Root {
    fn new(of: &Opened, id: BlockId) -> Root {
        let (bytes, objects) = (of.retained.bytes(id), of.retained.blocks(id));
        Root { root: of.heap.name(id).to_owned(), bytes, objects }
    }
}

impl Class {
    fn new(sums: &Sums, name: &str, all: u64) -> Class {
        let Sums { objects, bytes, retained_bytes } = *sums;
        let share = if all > 0 { bytes as f64 / all as f64 } else { 0.0 };
        Class { class: name.to_owned(), objects, bytes, share, retained_bytes }
    }
}

impl Render for Summary {
    fn render(&self, page: &mut Page) {
        let bytes = |bytes: u64| human::bytes(bytes as f64);
        let count = |count: u64| human::count(count as f64);
        page.line(format_args!(
            "{} objects that roots hold, {}",
            count(self.objects),
            bytes(self.bytes)
        ));
        if let Some(facts) = &self.snapshot {
            page.prose("", PLAIN, &facts.text());
        }
        if let Some(outside) = self.outside_bytes {
            let text = format!("They take {} elsewhere, beside the heap.", bytes(outside));
            page.prose("", PLAIN, &text);
        }
        if self.garbage_objects > 0 {
            let [objects, size] = [count(self.garbage_objects), bytes(self.garbage_bytes)];
            let text = format!(
                "{objects} objects, {size}, that no root holds any more: garbage not freed yet."
            );
            page.prose("", PLAIN, &text);
        }
        if self.missing_references > 0 {
            let text = format!(
                "{} references lead to nothing in the file.",
                count(self.missing_references)
            );
            page.prose("", PLAIN, &text);
        }
        page.line("");
        page.prose("", STRONG, "What each root alone holds");
        let mut table =
            Table::new([Column::left("bytes"), Column::left("objects")]).with_tails("root");
        let (shown, others) = self.roots.split_at(self.roots.len().min(MOST_ROOTS));
        for root in shown {
            let cells = [bytes(root.bytes), count(root.objects.into())].map(Cell::from);
            table.row(cells, Tail::Text { indent: 0, text: root.root.clone() });
        }
        if !others.is_empty() {
            let objects = others.iter().map(|root| u64::from(root.objects)).sum();
            let sum = others.iter().map(|root| root.bytes).sum();
            let text = format!("({} other roots, each alone)", count(others.len() as u64));
            table.row([bytes(sum), count(objects)].map(Cell::from), Tail::Text { indent: 0, text });
        }
        let cells = [bytes(self.shared_bytes), String::new()].map(Cell::from);
        table.row(cells, Tail::Text { indent: 0, text: "(several of them together)".to_owned() });
        page.table(&table);
        page.line("");
        let (shown, all) = (self.classes.len(), self.classes_total);
        page.prose("", STRONG, &format!("{shown} of {all} classes by bytes"));
        let columns = [
            Column::share("share"),
            Column::left("bytes").continues(),
            Column::left("objects").goes(1),
            Column::left("retained").goes(2),
        ];
        let mut table = Table::new(columns).with_tails("class");
        for class in &self.classes {
            let cells = [
                human::percent(class.share),
                bytes(class.bytes),
                count(class.objects),
                bytes(class.retained_bytes),
            ];
            table.row(cells.map(Cell::from), Tail::Text { indent: 0, text: class.class.clone() });
        }
        page.table(&table);
        page.line("");
        page.prose("", STRONG, "By the size of objects");
        let mut table =
            Table::new([Column::left("bytes"), Column::left("objects")]).with_tails("each at most");
        for size in &self.sizes {
            let cells = [bytes(size.bytes), count(size.objects)].map(Cell::from);
            table.row(cells, Tail::Text { indent: 0, text: bytes(size.up_to_bytes) });
        }
        page.table(&table);
        page.line("");
        page.prose("", FAINT, "retained: what would go if all objects of the class went. What is retained by several classes counts in each.");
    }
}
