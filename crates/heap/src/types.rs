//! What blocks are, as far as that can be told without the compiler: by their shapes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lifetrace_human as human;
use lifetrace_report::style::{FAINT, STRONG};
use lifetrace_report::views::Render;
use lifetrace_report::{Cell, Column, Page, Table, Tail};
use lifetrace_snapshot::graph::BlockId;
use serde::Serialize;

use crate::declared::{Evidence, Known, Verdict};
use crate::guess::{Guess, guess};
use crate::opened::Opened;

/// What blocks are: the document of the view.
#[derive(Debug, Serialize)]
pub struct Types {
    types_total: usize,
    /// The first of them, by their bytes.
    types: Vec<Type>,
    /// How much is known of the types that the program declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    declared: Option<Known>,
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
    /// How it is known which type they are of.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    known_by: Option<KnownBy>,
    /// Of what is called by its shape alone, where types that the program declares are known.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    fitting: Option<Fitting>,
}

/// How it is known which type objects are of: how many are known in which way.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct KnownBy {
    by_shape: u64,
    by_holder: u64,
}

/// How many types fit objects: the fewest and the most; 0 where none is known that does.
#[derive(Clone, Copy, Debug, Serialize)]
struct Fitting {
    types_fit_least: u32,
    types_fit_most: u32,
}

/// Objects of one type.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    objects: u64,
    bytes: u64,
    known_by: Option<KnownBy>,
    fitting: Option<Fitting>,
}

/// What is said of objects: a name that is known, or what they look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Called<'a> {
    guess: Option<Guess>,
    name: &'a str,
}

impl<'a> Called<'a> {
    fn of(of: &'a Opened, id: BlockId) -> Called<'a> {
        if let Some(name) = of.type_of(id) {
            return Called { guess: None, name };
        }
        let guess = guess(&of.heap, id);
        Called { guess, name: if guess.is_some() { "" } else { of.heap.name(id) } }
    }

    fn text(self) -> String {
        self.guess.map_or_else(|| self.name.to_owned(), Guess::name)
    }
}

impl Sums {
    fn add(&mut self, bytes: u64, verdict: Option<Verdict>, has_fields: bool) {
        self.objects += 1;
        self.bytes += bytes;
        match verdict {
            None => (),
            Some(Verdict::One(_, Evidence::Shape)) => {
                self.known_by.get_or_insert_default().by_shape += 1;
            }
            Some(Verdict::One(_, Evidence::Holder) | Verdict::Array) => {
                self.known_by.get_or_insert_default().by_holder += 1;
            }
            Some(_) if !has_fields => (),
            Some(Verdict::Several(count)) => self.fits(count),
            Some(Verdict::Unknown | Verdict::Contradicted) => self.fits(0),
        }
    }

    fn fits(&mut self, count: u32) {
        let Fitting { types_fit_least, types_fit_most } =
            self.fitting.unwrap_or(Fitting { types_fit_least: count, types_fit_most: count });
        self.fitting = Some(Fitting {
            types_fit_least: types_fit_least.min(count),
            types_fit_most: types_fit_most.max(count),
        });
    }
}

impl Types {
    /// Of all that roots hold, with so many types.
    pub fn new(of: &Opened, top: usize) -> Types {
        let mut all: BTreeMap<Called<'_>, Sums> = BTreeMap::new();
        let held = |id: &BlockId| of.dominators.is_reachable(*id);
        for id in of.heap.graph.blocks().filter(held) {
            let called = Called::of(of, id);
            let verdict = of.declared.as_ref().map(|it| it.verdict(id));
            all.entry(called).or_default().add(
                of.heap.graph.bytes(id),
                verdict,
                called.guess.is_some(),
            );
        }
        let held = of.reachable_bytes().max(1) as f64;
        let mut types: Vec<Type> = all
            .into_iter()
            .map(|(called, sums)| Type {
                r#type: called.text(),
                objects: sums.objects,
                bytes: sums.bytes,
                share: sums.bytes as f64 / held,
                is_guess: called.guess.is_some_and(Guess::is_one),
                known_by: sums.known_by,
                fitting: sums.fitting,
            })
            .collect();
        types.sort_by_key(|it| (Reverse(it.bytes), it.r#type.clone()));
        let types_total = types.len();
        types.truncate(top);
        let declared = of.declared.as_ref().map(|it| it.known.clone());
        Types { types_total, types, declared }
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
                it.evidence(),
            ];
            table.row(cells.map(Cell::from), Tail::Text { indent: 0, text: it.r#type.clone() });
        }
        page.table(&table);
        page.line("");
        page.prose("", FAINT, &self.explanation());
    }
}

impl Type {
    /// How this is known, in a few words.
    fn evidence(&self) -> String {
        let fitting = self.fitting.map(|it| (it.types_fit_least, it.types_fit_most));
        let guess = if self.is_guess { "guess, " } else { "" };
        match (self.known_by, fitting) {
            (Some(KnownBy { by_holder: 0, .. }), _) => "by shape".to_owned(),
            (Some(KnownBy { by_shape: 0, .. }), _) => "by holder".to_owned(),
            (Some(_), _) => "by shape, holder".to_owned(),
            (None, Some((0, 0))) => format!("{guess}none fits"),
            (None, Some((1, 1))) => format!("{guess}1 fits"),
            (None, Some((least, most))) if least == most => format!("{guess}{most} fit"),
            (None, Some((least, most))) => format!("{guess}{least} to {most} fit"),
            (None, None) => if self.is_guess { "guess" } else { "" }.to_owned(),
        }
    }
}

impl Types {
    fn explanation(&self) -> String {
        let Some(known) = &self.declared else {
            return GUESSED.to_owned();
        };
        let [files, forms] = [known.files, known.forms].map(|it| human::count(it as f64));
        let mut text = format!(
            "by shape: of {forms} sorts of blocks (records, constructors, exceptions, tuples, modules) in {files} .cmt \
             files no other has this tag, this size and such fields. by holder: what refers to them says so, by what its \
             own fields are declared to be. N fit: so many types look so, and which it is cannot be told. guess: by the \
             fields of a block, and what they refer to, without the files."
        );
        if let Some(units) = listed(&known.unknown_units) {
            text += &format!(
                " No block is named: of {units}, which the program has, there is no .cmt file, and a type that is declared \
                 there may look like any other. Give --types-from their folders, too."
            );
        } else if let Some(units) = listed(&known.missing_units) {
            text += &format!(
                " Of {units}, which these files need, there is no .cmt file: blocks of types that are declared there may be \
                 taken for others."
            );
        }
        text
    }
}

/// The first of them, and how many more there are.
fn listed(units: &[String]) -> Option<String> {
    let [first, rest @ ..] = units else { return None };
    Some(match rest.len() {
        0 => first.clone(),
        more => format!("{first} and {} more", human::count(more as f64)),
    })
}

const GUESSED: &str = "guess: the fields of a block, and what they refer to, look so. The program's types are not in the \
    heap: records, tuples and constructors of one length look alike.";
