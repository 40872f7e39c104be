//! One block: its fields, and who refers to it.

use std::cmp::Reverse;

use lifetrace_human as human;
use lifetrace_report::Page;
use lifetrace_report::style::{NAME, PLAIN, STRONG};
use lifetrace_report::views::Render;
use lifetrace_snapshot::graph::BlockId;
use serde::Serialize;

use crate::evidence::Told;
use crate::holding::Which;
use crate::list::list;
use crate::object::Object;
use crate::opened::Opened;
use crate::steps::{self, PATTERNED};

/// A block with its fields: the document of the view.
#[derive(Debug, Serialize)]
pub struct Block {
    object: Object,
    /// How it is known which type it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Told>,
    /// What is beside its references, if the file tells of fields.
    fields_total: u32,
    values: u32,
    outside: u32,
    /// What it refers to, in order.
    references: Vec<Object>,
    references_total: usize,
    /// The first of those that refer to it, by what they retain.
    referrers: Vec<Object>,
    referrers_total: usize,
    /// What it immediately dominates: the first, by what they retain.
    dominated: Vec<Object>,
    dominated_total: usize,
    /// What is on every way to it, and nearest.
    #[serde(skip_serializing_if = "Option::is_none")]
    dominator: Option<Object>,
}

impl Block {
    /// Of a block in a heap, with so many of its neighbours.
    ///
    /// # Errors
    /// If there is no such block.
    pub fn new(of: &Opened, which: &Which, top: usize) -> anyhow::Result<Block> {
        let (id, graph) = (which.find(of)?, &of.heap.graph);
        let referred =
            |&to: &BlockId| Object::new(of, to).in_field(of, id, steps::field(of, id, to));
        let references: Vec<BlockId> = graph.references(id).collect();
        let all = graph.roots().chain(graph.blocks());
        let mut referrers: Vec<BlockId> =
            all.filter(|&from| graph.references(from).any(|to| to == id)).collect();
        referrers.sort_by_key(|&from| (Reverse(of.retained.bytes(from)), from));
        let mut dominated = of.tree.children(id).to_vec();
        dominated.sort_by_key(|&it| (Reverse(of.retained.bytes(it)), it));
        let has_fields = of.origin.as_ref().is_some_and(|origin| !origin.is_import());
        let shape = of.heap.shape(id).filter(|_| has_fields);
        let length = shape.map_or(0, |shape| of.heap.length(shape));
        let codes = |code| {
            let of = |it: &&_| shape.is_some_and(|shape| shape.pattern >> (2 * **it) & 3 == code);
            let fields: Vec<u32> = (0..length.min(PATTERNED)).collect();
            fields.iter().filter(of).count() as u32
        };
        let nearest = of.dominators.dominator(id).filter(|&it| it != BlockId::ALL_ROOTS);
        Ok(Block {
            object: Object::new(of, id),
            evidence: of.declared.as_ref().and_then(|it| Told::of(it, id)),
            fields_total: length,
            values: codes(0),
            outside: codes(2),
            references: references.iter().take(top).map(referred).collect(),
            references_total: references.len(),
            referrers: referrers.iter().take(top).map(|&it| steps::referrer(of, it, id)).collect(),
            referrers_total: referrers.len(),
            dominated: dominated.iter().take(top).map(|&it| Object::new(of, it)).collect(),
            dominated_total: dominated.len(),
            dominator: nearest.map(|it| Object::new(of, it)),
        })
    }
}

impl Render for Block {
    fn render(&self, page: &mut Page) {
        let object = &self.object;
        page.prose("", STRONG, &format!("{}  {}", object.name(), object.place()));
        let bytes = human::bytes(object.retained_bytes as f64);
        let objects = human::count(object.retained_objects.into());
        let mut text = format!("With it {bytes} in {objects} objects would go.");
        if self.fields_total > 0 {
            let [all, values, outside] =
                [self.fields_total, self.values, self.outside].map(|it| human::count(it.into()));
            let of = match self.fields_total {
                0..=PATTERNED => format!("its {all} fields"),
                _ => format!("the first {PATTERNED} of its {all} fields"),
            };
            text += &format!(
                " Of {of} {values} are no references, and {outside} lead outside of the heap."
            );
        }
        page.prose("", PLAIN, &text);
        if let Some(evidence) = &self.evidence {
            page.prose("", PLAIN, &evidence.text());
        }
        let heading = |text: &str, shown: usize, total: usize| match total - shown {
            0 => text.to_owned(),
            more => format!("{text}, and {} more", human::count(more as f64)),
        };
        for (text, objects, total) in [
            ("What it refers to", &self.references, self.references_total),
            ("Who refers to it", &self.referrers, self.referrers_total),
            ("What it alone holds", &self.dominated, self.dominated_total),
        ] {
            list(page, &heading(text, objects.len(), total), objects, false);
        }
        if let Some(dominator) = &self.dominator {
            let text = format!("On every way to it: {}  {}", dominator.name(), dominator.place());
            page.line("");
            page.prose("", NAME, &text);
        }
    }
}
