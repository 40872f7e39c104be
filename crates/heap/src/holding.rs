//! One object: what holds it, what it holds.

use std::cmp::Reverse;

use anyhow::{Context, bail};
use lifetrace_human as human;
use lifetrace_report::Page;
use lifetrace_report::style::PLAIN;
use lifetrace_report::views::Render;
use lifetrace_snapshot::graph::BlockId;
use lifetrace_snapshot::heap::Heap;
use lifetrace_snapshot::paths::Shortest;
use serde::Serialize;

use crate::list::list;
use crate::object::Object;
use crate::opened::Opened;
use crate::sites;
use crate::steps::{self, is_stack, way};

/// Which object is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one at an address.
    At(u64),
    /// That of a class, or of a type where types are known, that retains most.
    OfClass(String),
    /// The sampled one that was allocated at a site and retains most.
    OfSite(u32),
}

/// What holds an object, and what it holds: the document of the view.
#[derive(Debug, Serialize)]
pub struct Holding {
    object: Object,
    /// How many objects of its class there are.
    of_class: u64,
    /// From a root to it, by as few references as can be. Each step refers to the next; empty if no root holds it.
    shortest_path: Vec<Object>,
    /// From a root, or what several roots have in common, to it: what is on every way to it.
    dominators: Vec<Object>,
    /// The first of those that refer to it, by what they retain.
    referrers: Vec<Object>,
    referrers_total: usize,
    /// The first of those that it refers to, by what they retain.
    references: Vec<Object>,
    references_total: usize,
}

impl Which {
    /// # Errors
    /// If there is no such object.
    pub(crate) fn find(&self, of: &Opened) -> anyhow::Result<BlockId> {
        let heap = &of.heap;
        match self {
            Which::At(address) => heap.at(*address).with_context(|| {
                format!("there is no object at {address:#x} in {}", of.path.display())
            }),
            Which::OfSite(site) => sites::most_of(of, *site),
            Which::OfClass(class) => {
                let is_of = |id: &BlockId| {
                    heap.name(*id) == class || of.type_of(*id) == Some(class.as_str())
                };
                let blocks = heap.graph.blocks().filter(is_of);
                let most = blocks
                    .max_by_key(|&id| (of.retained.bytes(id), heap.graph.bytes(id), Reverse(id)));
                if let Some(id) = most {
                    return Ok(id);
                }
                let part = class.to_lowercase();
                let near = heap.kinds.iter().filter(|kind| kind.to_lowercase().contains(&part));
                let near: Vec<&str> = near.take(5).map(|kind| &**kind).collect();
                match near.is_empty() {
                    true => bail!("there is no object of class {class} in {}", of.path.display()),
                    false => bail!(
                        "there is no object of class {class} in {}; there are {}",
                        of.path.display(),
                        near.join(", ")
                    ),
                }
            }
        }
    }
}

impl Holding {
    /// Of an object in a heap, with so many of its neighbours.
    ///
    /// # Errors
    /// If there is no such object.
    pub fn new(of: &Opened, which: &Which, top: usize) -> anyhow::Result<Holding> {
        let (id, graph) = (which.find(of)?, &of.heap.graph);
        let label = of.label(id);
        let object = |&id: &BlockId| Object::new(of, id);
        let sort = |ids: &mut Vec<BlockId>| {
            ids.sort_by_key(|&id| (Reverse(of.retained.bytes(id)), id));
            ids.dedup();
        };
        let above =
            |id: &BlockId| of.dominators.dominator(*id).filter(|&it| it != BlockId::ALL_ROOTS);
        let mut dominators: Vec<_> = std::iter::successors(Some(id), above).collect();
        dominators.reverse();
        let all = graph.roots().chain(graph.blocks());
        let refers = |from: &BlockId| graph.references(*from).any(|to| to == id);
        let mut referrers: Vec<BlockId> = all.filter(refers).collect();
        let mut references: Vec<BlockId> = graph.references(id).collect();
        sort(&mut referrers);
        sort(&mut references);
        let is_held = of.dominators.is_reachable(id);
        Ok(Holding {
            object: object(&id),
            of_class: graph.blocks().filter(|&other| of.label(other) == label).count() as u64,
            shortest_path: way(of, &Shortest::of(graph, says_little(&of.heap)).path(id)),
            dominators: dominators.iter().filter(|_| is_held).map(object).collect(),
            referrers: referrers.iter().take(top).map(|&it| steps::referrer(of, it, id)).collect(),
            referrers_total: referrers.len(),
            references: references.iter().take(top).map(object).collect(),
            references_total: references.len(),
        })
    }
}

impl Render for Holding {
    fn render(&self, page: &mut Page) {
        let Object { retained_bytes, retained_objects, .. } = self.object;
        page.line(format_args!(
            "{}  {}",
            human::printable(&self.object.name()),
            self.object.place()
        ));
        let (bytes, objects) =
            (human::bytes(retained_bytes as f64), human::count(retained_objects.into()));
        let class = self.object.r#type.as_ref().unwrap_or(&self.object.class);
        let count = human::count(self.of_class as f64);
        let held = match self.shortest_path.is_empty() {
            true => "No root holds it any more: it is garbage that is not freed yet.".to_owned(),
            false => format!("With it {bytes} in {objects} objects would go."),
        };
        page.prose("", PLAIN, &format!("{held} There are {count} of class {class}."));
        if !self.shortest_path.is_empty() {
            list(page, "The shortest way to it, from a root", &self.shortest_path, true);
            if !same(&self.shortest_path, &self.dominators) {
                list(page, "On every way to it", &self.dominators, true);
            }
        }
        let more = |shown: &[Object], total: usize| match total - shown.len() {
            0 => String::new(),
            more => format!(", and {} more", human::count(more as f64)),
        };
        let heading = format!("Who refers to it{}", more(&self.referrers, self.referrers_total));
        list(page, &heading, &self.referrers, false);
        let heading = format!("What it refers to{}", more(&self.references, self.references_total));
        list(page, &heading, &self.references, false);
    }
}

/// What lies on a stack may be nothing but a number that looks so, and is gone in a moment.
pub(crate) fn says_little(heap: &Heap) -> impl Fn(BlockId) -> bool + '_ {
    |root| heap.name(root) == "machine_context" || is_stack(heap.name(root))
}

fn same(one: &[Object], other: &[Object]) -> bool {
    let names =
        |of: &[Object]| of.iter().map(|it| (it.address, it.class.clone())).collect::<Vec<_>>();
    names(one) == names(other)
}
