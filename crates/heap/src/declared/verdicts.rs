//! Of each block the only type that it may be of.

use std::collections::BTreeSet;

use lifetrace_snapshot::graph::BlockId;
use lifetrace_snapshot::heap::Heap;
use lifetrace_trace::lth::Form;
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::blocks::{Blocks, Content, Sort};
use super::candidates::{Candidates, DEEPEST_LOOK};
use super::classes::Classes;
use super::fits::Fits;
use super::sources::Sources;
use super::types::{Type, TypeNumber};
use super::universe::{Layout, LayoutNumber, Universe};
use super::verdict::{Evidence, Verdict};

/// So often blocks are gone through, each time without what was contradicted before.
const MOST_ROUNDS: u32 = 6;

/// What is known of all blocks of a heap.
#[derive(Debug)]
pub(crate) struct Verdicts {
    universe: Universe,
    /// By block, roots included.
    of: Vec<Verdict>,
    /// What the types were read from.
    pub(crate) known: Known,
}

/// How much is known of a program's types.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Known {
    /// `.cmt` and `.cmti` files.
    pub(crate) files: usize,
    /// How many sorts of blocks there are: of records, constructors, exceptions, tuples, modules.
    pub(crate) forms: usize,
    /// Units that the program has, by its global variables, whose types are not known: while there are any, no block is
    /// named.
    pub(crate) unknown_units: Vec<String>,
    /// Those that the files were compiled against, and of which there is no file.
    pub(crate) missing_units: Vec<String>,
    /// How often what looked like nothing else was not what its holders say.
    pub(crate) contradicted_types: usize,
}

/// What is expected of a block.
#[derive(Clone, Copy, Debug)]
struct Expected {
    id: BlockId,
    of: TypeNumber,
    /// What this follows from, in the end.
    from: LayoutNumber,
}

impl Verdicts {
    pub(crate) fn of(heap: &Heap, sources: &Sources) -> Verdicts {
        let mut universe = Universe::of(sources);
        let mut judging = Judging {
            fits: Fits::of(Blocks::of(heap), &mut universe),
            candidates: Candidates::default(),
            doubted: FxHashSet::default(),
            of: Vec::new(),
        };
        let classes = Classes::of(&judging.fits.blocks, DEEPEST_LOOK);
        for _ in 0..MOST_ROUNDS {
            let doubted = judging.doubted.len();
            judging.by_shape(&classes);
            judging.by_holder();
            if judging.doubted.len() == doubted {
                break;
            }
        }
        let Judging { mut of, doubted, .. } = judging;
        let unknown_units = unknown_units(heap, sources);
        if !unknown_units.is_empty() {
            of.iter_mut().for_each(|verdict| *verdict = verdict.without_names());
        }
        let known = Known {
            files: sources.units.len(),
            forms: universe.layouts.len(),
            unknown_units,
            missing_units: sources.missing.iter().cloned().collect(),
            contradicted_types: doubted.len(),
        };
        Verdicts { universe, of, known }
    }

    pub(crate) fn verdict(&self, id: BlockId) -> Verdict {
        self.of.get(id.index()).copied().unwrap_or(Verdict::Unknown)
    }

    pub(crate) fn layout(&self, number: LayoutNumber) -> &Layout {
        &self.universe.layouts[number.0 as usize]
    }
}

/// Units that the program has, by its global variables, and of which there is no file. A type that one of them declares
/// may look like another one that is known.
fn unknown_units(heap: &Heap, sources: &Sources) -> Vec<String> {
    let read: FxHashSet<&str> = sources.units.iter().map(|it| it.unit.name.as_str()).collect();
    let mut unknown = BTreeSet::new();
    for root in heap.graph.roots().filter(|&root| heap.name(root) == "globals") {
        for to in heap.graph.references(root) {
            let name = heap.slot(root, to).and_then(|slot| slot.name.as_deref());
            let unit = name.and_then(|name| name.split_once(", field ")).map(|(unit, _)| unit);
            unknown.extend(unit.filter(|unit| !read.contains(unit)).map(str::to_owned));
        }
    }
    unknown.into_iter().collect()
}

struct Judging<'a> {
    fits: Fits<'a>,
    candidates: Candidates,
    /// What looked as nothing else does, and was not what it looked like.
    doubted: FxHashSet<LayoutNumber>,
    of: Vec<Verdict>,
}

impl Judging<'_> {
    /// Each block by itself.
    fn by_shape(&mut self, classes: &Classes) {
        let mut verdicts = Vec::with_capacity(classes.first.len());
        for &id in &classes.first {
            verdicts.push(match self.candidates.verdict(&mut self.fits, id) {
                Verdict::One(layout, _) if self.doubted.contains(&layout) => Verdict::Contradicted,
                other => other,
            });
        }
        self.of.clear();
        self.of.extend(classes.of.iter().map(|&class| verdicts[class as usize]));
    }

    /// From the blocks that are known to those that they refer to.
    fn by_holder(&mut self) {
        let mut waiting = Vec::new();
        for at in 0..self.of.len() {
            let Verdict::One(layout, Evidence::Shape) = self.of[at] else { continue };
            let of = self.fits.type_of(layout);
            self.expect_fields(BlockId(at as u32), layout, of, layout, &mut waiting);
            while let Some(next) = waiting.pop() {
                self.meet(&next, &mut waiting);
            }
        }
    }

    /// What the fields of a block are to be that looks so and is of that type.
    fn expect_fields(
        &mut self,
        id: BlockId,
        layout: LayoutNumber,
        of: TypeNumber,
        from: LayoutNumber,
        waiting: &mut Vec<Expected>,
    ) {
        let fields = self.fits.fields(layout, of);
        let contents = self.fits.blocks.contents(id);
        for (content, &of) in contents.iter().zip(&*fields) {
            if let Content::Block(id) = *content {
                waiting.push(Expected { id, of, from });
            }
        }
    }

    /// Beside what is known of the block itself.
    fn meet(&mut self, expected: &Expected, waiting: &mut Vec<Expected>) {
        let &Expected { id, of, from } = expected;
        match self.fits.universe.types.of(of).clone() {
            Type::Declared(declaration, _) => match self.fits.layout(id, declaration) {
                Some(layout) => self.meet_layout(expected, layout, waiting),
                None => self.doubt(id, from),
            },
            Type::Array(element) => self.meet_array(expected, element, waiting),
            _ if self.is_of_declared(id) && !self.may_be_declared(of) => self.doubt(id, from),
            Type::Tuple(parts) => {
                let contents = self.fits.blocks.contents(id);
                for (content, &of) in contents.iter().zip(&parts) {
                    if let Content::Block(id) = *content {
                        waiting.push(Expected { id, of, from });
                    }
                }
            }
            _ if !self.fits.block(id, of, 0) => self.doubt(id, from),
            _ => (),
        }
    }

    /// Whether it is taken for a block of a type that is declared.
    fn is_of_declared(&self, id: BlockId) -> bool {
        let Verdict::One(LayoutNumber(layout), _) = self.of[id.index()] else { return false };
        self.fits.universe.layouts[layout as usize].of.is_some()
    }

    fn may_be_declared(&self, of: TypeNumber) -> bool {
        matches!(self.fits.universe.types.of(of), Type::Any | Type::Parameter(_))
    }

    fn meet_layout(
        &mut self,
        expected: &Expected,
        layout: LayoutNumber,
        waiting: &mut Vec<Expected>,
    ) {
        let &Expected { id, of, from } = expected;
        match self.of[id.index()] {
            Verdict::One(own, _) if own != layout => self.doubt(id, from),
            Verdict::Array => self.doubt(id, from),
            Verdict::One(_, Evidence::Holder) => (),
            own => {
                if !matches!(own, Verdict::One(..)) {
                    self.of[id.index()] = Verdict::One(layout, Evidence::Holder);
                }
                self.expect_fields(id, layout, of, from, waiting);
            }
        }
    }

    fn meet_array(
        &mut self,
        expected: &Expected,
        element: TypeNumber,
        waiting: &mut Vec<Expected>,
    ) {
        let &Expected { id, of, from } = expected;
        match self.of[id.index()] {
            _ if !self.fits.block(id, of, 0) => self.doubt(id, from),
            Verdict::One(..) => self.doubt(id, from),
            Verdict::Array => (),
            _ => {
                if self.fits.blocks.sort(id) == Some(&Sort::Of(Form::FloatArray)) {
                    return;
                }
                self.of[id.index()] = Verdict::Array;
                if *self.fits.universe.types.of(element) != Type::Any {
                    let elements = self.fits.blocks.heap.graph.references(id);
                    waiting.extend(elements.map(|id| Expected { id, of: element, from }));
                }
            }
        }
    }

    /// A block is not what it is expected to be: what says so is not believed any more, nor what it looks like itself.
    fn doubt(&mut self, id: BlockId, from: LayoutNumber) {
        self.doubted.insert(from);
        if let Verdict::One(own, Evidence::Shape) = self.of[id.index()] {
            self.doubted.insert(own);
        }
    }
}
