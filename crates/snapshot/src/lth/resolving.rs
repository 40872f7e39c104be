//! From what has been read of a snapshot to the heap.

use lifetrace_trace::lth::{Form, Header, Outcome, Totals};

use super::loading::{BEYOND, BY_ADDRESS, Loading, RawSlot};
use super::snapshot::{ReadError, Snapshot};
use super::target::Target;
use crate::graph::{BlockId, Graph, ShapeId, TooLarge};
use crate::heap::{Heap, KindId, Kinds, Places, Shape, Slot};
use crate::index::Index;

/// # Errors
/// If there are too many blocks or references.
pub(super) fn finish(
    mut loading: Loading,
    header: Header,
    outcome: Option<(Outcome, Totals)>,
) -> Result<Snapshot, ReadError> {
    let kinds = name_kinds(&mut loading);
    let first = 1 + u32::try_from(loading.roots.len()).map_err(|_| TooLarge)?;
    let sought = sought(&loading);
    let mut resolver = Resolver::of(&loading, first, &sought);
    let samples = loading.samples.iter();
    let samples = samples.map(|&sample| (sample, resolver.at(sample.address.0))).collect();
    let slots = resolver.slots(&loading.roots);
    let (graph, missing) = (resolver.graph(&loading, &slots)?, resolver.missing);
    drop(resolver);
    let Loading { roots, sites, shapes, shape_of, addresses, stretches, .. } = loading;
    let own = [ShapeId::ROOT].repeat(first as usize);
    let (rows, references) = graph;
    let graph = Graph::of([own, shape_of].concat(), shapes.sizes(), rows, references, first - 1);
    let heap = Heap {
        graph,
        roots: roots.into_iter().map(|(category, _)| category).collect(),
        kinds: kinds.names,
        forms: kinds.forms,
        shapes: shapes.all,
        addresses,
        places: Places::Stretches(stretches),
        slots,
    };
    Ok(Snapshot { heap, header, outcome, missing, damages: Vec::new(), sites, samples })
}

/// Numbers kinds by their names.
fn name_kinds(loading: &mut Loading) -> Kinds {
    let mut kinds = Kinds::default();
    for shape in loading.shapes.all.iter_mut().skip(1) {
        let kind = loading.kinds.get(shape.kind.0 as usize).and_then(Option::as_ref);
        let form = kind.map_or(Form::Other, |kind| kind.form);
        let name = match kind {
            None => "of a kind that is lost".to_owned(),
            Some(kind) if form == Form::Closure => format!("closure {}", kind.name),
            Some(kind) if form == Form::Custom => format!("custom {}", kind.name),
            Some(kind) => kind.name.to_string(),
        };
        *shape = Shape { kind: kinds.number(name, form), ..*shape };
    }
    if kinds.names.is_empty() {
        let KindId(_) = kinds.number("nothing".to_owned(), Form::Other);
    }
    kinds
}

/// All addresses that are asked for, each once.
fn sought(loading: &Loading) -> Vec<u64> {
    let slots = loading.roots.iter().flat_map(|(_, slots)| slots);
    let slots = slots.filter_map(|slot| match slot.to {
        Some(Target::Address(address)) => Some(address),
        _ => None,
    });
    let samples = loading.samples.iter().map(|sample| sample.address.0);
    let mut sought = loading.by_address.clone();
    sought.extend(slots.chain(samples));
    sought.sort_unstable();
    sought.dedup();
    sought
}

/// Finds blocks by their numbers and addresses.
struct Resolver<'a> {
    stretches: &'a [(u32, u64, u64)],
    blocks: u32,
    /// The number that the first block has in the graph.
    first: u32,
    /// Of all addresses that are asked for.
    sought: Index<'a>,
    /// By place among these, the block that is there.
    found: Vec<Option<BlockId>>,
    missing: u64,
}

impl<'a> Resolver<'a> {
    fn of(loading: &'a Loading, first: u32, addresses: &'a [u64]) -> Self {
        let (sought, mut found) = (Index::of(addresses), vec![None; addresses.len()]);
        let blocks = loading.addresses.len() as u32;
        for (address, id) in loading.addresses.iter().zip((first..).map(BlockId)) {
            if let Some(at) = sought.find(*address) {
                found[at as usize].get_or_insert(id);
            }
        }
        Self { stretches: &loading.stretches, blocks, first, sought, found, missing: 0 }
    }

    fn at(&self, address: u64) -> Option<BlockId> {
        self.found[self.sought.find(address)? as usize]
    }

    /// The block with that number.
    fn numbered(&self, number: u64) -> Option<BlockId> {
        let after = self.stretches.partition_point(|&(_, first, _)| first <= number);
        let &(place, begin, _) = self.stretches.get(after.checked_sub(1)?)?;
        let end = self.stretches.get(after).map_or(self.blocks, |&(place, ..)| place);
        let at = u32::try_from(number - begin).ok().filter(|&at| at < end - place)?;
        Some(BlockId(self.first + place + at))
    }

    /// The slots of roots that hold something.
    fn slots(&mut self, roots: &[(std::sync::Arc<str>, Vec<RawSlot>)]) -> Vec<Slot> {
        let mut slots = Vec::new();
        for (root, raw) in (1..).map(BlockId).zip(roots.iter().map(|(_, slots)| slots)) {
            for slot in raw {
                let to = match slot.to {
                    None => continue,
                    Some(Target::Number(number)) => self.numbered(number),
                    Some(Target::Address(address)) => self.at(address),
                };
                self.missing += u64::from(to.is_none());
                let (name, address) = (slot.name.clone(), slot.address);
                slots.extend(to.map(|to| Slot { root, to, name, address }));
            }
        }
        slots.sort_by_key(|slot| (slot.root, slot.to));
        slots
    }

    /// Rows and references of all roots, of each of them, and of blocks.
    fn graph(
        &mut self,
        loading: &Loading,
        slots: &[Slot],
    ) -> Result<(Vec<u32>, Vec<u32>), TooLarge> {
        let roots = self.first - 1;
        let most = roots as usize + slots.len() + loading.references.len();
        u32::try_from(most).map_err(|_| TooLarge)?;
        let mut references = Vec::with_capacity(most);
        let mut rows = Vec::with_capacity(self.first as usize + loading.ends.len() + 1);
        rows.push(0);
        references.extend(1..=roots);
        rows.push(references.len() as u32);
        let mut rest = slots;
        for root in (1..=roots).map(BlockId) {
            let (own, others) = rest.split_at(rest.partition_point(|slot| slot.root <= root));
            references.extend(own.iter().map(|slot| slot.to.0));
            rows.push(references.len() as u32);
            rest = others;
        }
        self.blocks(loading, &mut rows, &mut references);
        Ok((rows, references))
    }

    fn blocks(&mut self, loading: &Loading, rows: &mut Vec<u32>, references: &mut Vec<u32>) {
        let is_whole = self.is_whole();
        let mut by_address = loading.by_address.iter();
        let mut begin = 0;
        for &end in &loading.ends {
            for &reference in &loading.references[begin..end as usize] {
                let to = match reference {
                    BY_ADDRESS => by_address.next().and_then(|&address| self.at(address)),
                    BEYOND => None,
                    number if is_whole && number < self.blocks => {
                        Some(BlockId(self.first + number))
                    }
                    number => self.numbered(number.into()),
                };
                self.missing += u64::from(to.is_none());
                references.extend(to.map(|to| to.0));
            }
            begin = end as usize;
            rows.push(references.len() as u32);
        }
    }

    /// Whether each block's number is its place.
    fn is_whole(&self) -> bool {
        self.stretches.iter().all(|&(place, number, _)| u64::from(place) == number)
    }
}
