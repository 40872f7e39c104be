//! What blocks are, as far as that can be told without the compiler: by their shapes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lifetrace_human as human;
use lifetrace_report::style::{FAINT, STRONG};
use lifetrace_report::views::Render;
use lifetrace_report::{Cell, Column, Page, Table, Tail};
use lifetrace_snapshot::graph::BlockId;
use serde::Serialize;

use crate::guess::{Guess, guess};
use crate::opened::Opened;

/// What blocks are: the document of the view.
#[derive(Debug, Serialize)]
pub struct Types {
    types_total: usize,
    /// The first of them, by their bytes.
    types: Vec<Type>,
}

#[derive(Debug, Serialize)]
struct Type {
    r#type: String,
    objects: u64,
    bytes: u64,
    /// Of all that roots hold.
    share: f64,
    /// Whether their shape alone says so.
    is_guess: bool,
}

impl Types {
    /// Of all that roots hold, with so many types.
    pub fn new(of: &Opened, top: usize) -> Types {
        let mut sums: BTreeMap<(Option<Guess>, &str), [u64; 2]> = BTreeMap::new();
        let held = |id: &BlockId| of.dominators.is_reachable(*id);
        for id in of.heap.graph.blocks().filter(held) {
            let guess = guess(&of.heap, id);
            let name = if guess.is_some() { "" } else { of.heap.name(id) };
            let [objects, bytes] = sums.entry((guess, name)).or_default();
            *objects += 1;
            *bytes += of.heap.graph.bytes(id);
        }
        let all = of.reachable_bytes().max(1) as f64;
        let mut types: Vec<Type> = sums
            .into_iter()
            .map(|((guess, name), [objects, bytes])| Type {
                r#type: guess.map_or_else(|| name.to_owned(), Guess::name),
                objects,
                bytes,
                share: bytes as f64 / all,
                is_guess: guess.is_some_and(Guess::is_one),
            })
            .collect();
        types.sort_by_key(|it| (Reverse(it.bytes), it.r#type.clone()));
        let types_total = types.len();
        types.truncate(top);
        Types { types_total, types }
    }
}

impl Render for Types {
    fn render(&self, page: &mut Page) {
        let (shown, all) = (self.types.len(), self.types_total);
        page.prose("", STRONG, &format!("{shown} of {all} types by bytes"));
        let columns = [
            Column::share("share"),
            Column::left("bytes").continues(),
            Column::left("objects").goes(1),
            Column::left("").goes(2),
        ];
        let mut table = Table::new(columns).with_tails("type");
        for it in &self.types {
            let cells = [
                human::percent(it.share),
                human::bytes(it.bytes as f64),
                human::count(it.objects as f64),
                if it.is_guess { "guess" } else { "" }.to_owned(),
            ];
            table.row(cells.map(Cell::from), Tail::Text { indent: 0, text: it.r#type.clone() });
        }
        page.table(&table);
        page.line("");
        page.prose("", FAINT, "guess: the fields of a block, and what they refer to, look so. The program's types are not in \
            the heap: records, tuples and constructors of one length look alike.");
    }
}
