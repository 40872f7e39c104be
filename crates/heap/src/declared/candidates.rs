//! Which types look like a block, of all there are.

use std::rc::Rc;

use lifetrace_snapshot::graph::{BlockId, ShapeId};
use lifetrace_trace::lth::Form;
use rustc_hash::FxHashMap;

use super::blocks::{Content, PATTERNED, Sort};
use super::fits::Fits;
use super::types::{Type, TypeNumber, Types};
use super::universe::LayoutNumber;
use super::verdict::{Evidence, Verdict};

/// Where more than so many types look so at first sight, it is not asked how many do so at the second.
const MOST: usize = 24;

/// So deep is looked at the second sight.
const SECOND_SIGHT: u32 = 2;

/// What is referred to in more steps makes no difference.
pub(super) const DEEPEST_LOOK: u32 = SECOND_SIGHT + 1;

/// What looks like blocks of one shape, or of one shape whose fields are of the same shapes.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    by_shape: FxHashMap<ShapeId, Rc<[LayoutNumber]>>,
    by_fields: FxHashMap<Box<[u32]>, Rc<Found>>,
    /// The shapes of a block and of what it refers to.
    key: Vec<u32>,
}

#[derive(Debug)]
struct Found {
    layouts: Vec<LayoutNumber>,
    /// Whether an array may look so.
    is_array: bool,
}

impl Candidates {
    /// What is known of a block by itself.
    pub(super) fn verdict(&mut self, fits: &mut Fits<'_>, id: BlockId) -> Verdict {
        let by_shape = self.by_shape(fits, id);
        if by_shape.is_empty() {
            return Verdict::Unknown;
        }
        if fits.blocks.sort(id) == Some(&Sort::Of(Form::FloatArray)) {
            return Verdict::Several(by_shape.len() as u32 + 1);
        }
        let found = self.by_fields(fits, id, &by_shape);
        let others = u32::from(found.is_array);
        if found.layouts.len() > MOST {
            return Verdict::Several(found.layouts.len() as u32 + others);
        }
        let fitting = |it: &&LayoutNumber| is_layout(fits, id, **it, SECOND_SIGHT);
        let left: Vec<_> = found.layouts.iter().filter(fitting).collect();
        match (&left[..], others) {
            ([], _) => Verdict::Unknown,
            (&[&one], 0) if says_something(fits, one) => Verdict::One(one, Evidence::Shape),
            (several, others) => Verdict::Several(several.len() as u32 + others),
        }
    }

    /// By tag, size, and which fields are pointers.
    fn by_shape(&mut self, fits: &Fits<'_>, id: BlockId) -> Rc<[LayoutNumber]> {
        let shape = fits.blocks.heap.graph.shape(id);
        let known = self.by_shape.entry(shape);
        Rc::clone(known.or_insert_with(|| looking_so(fits, id)))
    }

    /// By the shapes of what the fields refer to.
    fn by_fields(&mut self, fits: &mut Fits<'_>, id: BlockId, of: &[LayoutNumber]) -> Rc<Found> {
        let graph = &fits.blocks.heap.graph;
        self.key.clear();
        self.key.push(graph.shape(id).0);
        self.key.extend(fits.blocks.contents(id).iter().map(|content| match content {
            Content::Block(to) => graph.shape(*to).0,
            _ => u32::MAX,
        }));
        if let Some(known) = self.by_fields.get(&self.key[..]) {
            return Rc::clone(known);
        }
        let layouts: Vec<_> = of.iter().copied().filter(|&it| is_layout(fits, id, it, 0)).collect();
        let is_array = !layouts.is_empty() && is_array(fits, id);
        let found = Rc::new(Found { layouts, is_array });
        self.by_fields.insert(self.key.clone().into(), Rc::clone(&found));
        found
    }
}

fn looking_so(fits: &Fits<'_>, id: BlockId) -> Rc<[LayoutNumber]> {
    let tag = match fits.blocks.sort(id) {
        Some(Sort::Tagged(tag)) => Some(*tag),
        Some(Sort::Of(Form::FloatArray)) => None,
        _ => return Rc::new([]),
    };
    let size = fits.blocks.size(id);
    let Some(all) = fits.universe.by_form.get(&(tag, size)).filter(|_| size as usize <= PATTERNED)
    else {
        return Rc::new([]);
    };
    let contents = fits.blocks.contents(id);
    let looks_so = |it: &&LayoutNumber| {
        let fields = &fits.universe.layouts[it.0 as usize].fields;
        contents.iter().zip(fields).all(|(content, &of)| match content {
            Content::Unknown => true,
            Content::Value => fits.may_be_value(of),
            Content::Outside | Content::Block(_) => fits.may_be_pointer(of),
        })
    };
    all.iter().filter(looks_so).copied().collect()
}

fn is_layout(fits: &mut Fits<'_>, id: BlockId, layout: LayoutNumber, depth: u32) -> bool {
    let of = fits.type_of(layout);
    let fields = fits.fields(layout, of);
    fits.each(id, &fields, depth)
}

/// Whether a layout asks more of a block than how many fields it has.
fn says_something(fits: &Fits<'_>, layout: LayoutNumber) -> bool {
    let layout = &fits.universe.layouts[layout.0 as usize];
    let asks =
        |it: &TypeNumber| !matches!(fits.universe.types.of(*it), Type::Any | Type::Parameter(_));
    layout.tag != Some(0) || layout.fields.iter().any(asks)
}

/// Whether there may be an array that looks so: of elements that some array in the files has, or of any one type.
fn is_array(fits: &mut Fits<'_>, id: BlockId) -> bool {
    let contents = fits.blocks.contents(id);
    if fits.blocks.sort(id) != Some(&Sort::Tagged(0)) {
        return false;
    }
    let elements = fits.universe.elements.clone();
    let mut elements = elements.into_iter();
    elements.any(|of| contents.iter().all(|&content| fits.content(content, of, 0)))
        || are_alike(fits, &contents)
}

/// Whether there is a type that all of them may be of.
fn are_alike(fits: &mut Fits<'_>, contents: &[Content]) -> bool {
    let first = contents.iter().find_map(|it| match it {
        Content::Block(id) => Some(*id),
        _ => None,
    });
    let Some(first) = first else { return true };
    let sort = fits.blocks.sort(first).cloned();
    let size = fits.blocks.size(first);
    let Some(Sort::Tagged(tag)) = sort else {
        return contents.iter().all(|it| match it {
            Content::Block(id) => fits.blocks.sort(*id) == sort.as_ref(),
            Content::Value => false,
            Content::Outside | Content::Unknown => true,
        });
    };
    let layouts = fits.universe.by_form.get(&(Some(tag), size)).cloned().unwrap_or_default();
    let owners = layouts.iter().map(|it| fits.universe.layouts[it.0 as usize].of);
    let owners: Vec<_> = owners.collect();
    owners.into_iter().any(|owner| {
        let of = match owner {
            Some(declaration) => fits.universe.instance(declaration),
            None => {
                let parts = vec![Types::ANY; size as usize];
                fits.universe.types.number(Type::Tuple(parts.into()))
            }
        };
        contents.iter().all(|&content| fits.content(content, of, 0))
    })
}
