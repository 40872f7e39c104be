//! Whether a block may be of a type.

use std::rc::Rc;

use lifetrace_snapshot::graph::BlockId;
use lifetrace_trace::lth::Form;
use rustc_hash::FxHashMap;

use super::blocks::{Blocks, Content, Sort};
use super::types::{DeclarationNumber, Type, TypeNumber, Types};
use super::universe::{LayoutNumber, Universe};

/// Blocks of a heap beside the types that they may be of.
pub(super) struct Fits<'a> {
    pub(super) blocks: Blocks<'a>,
    pub(super) universe: &'a mut Universe,
    /// By layout and the type whose it is: what the fields are.
    fields: FxHashMap<(LayoutNumber, TypeNumber), Rc<[TypeNumber]>>,
}

impl<'a> Fits<'a> {
    pub(super) fn of(blocks: Blocks<'a>, universe: &'a mut Universe) -> Fits<'a> {
        Fits { blocks, universe, fields: FxHashMap::default() }
    }

    /// What the fields are of a block that looks so and is of that type.
    pub(super) fn fields(&mut self, layout: LayoutNumber, of: TypeNumber) -> Rc<[TypeNumber]> {
        if let Some(known) = self.fields.get(&(layout, of)) {
            return Rc::clone(known);
        }
        let Universe { layouts, types, .. } = &mut *self.universe;
        let fields = &layouts[layout.0 as usize].fields;
        let fields: Rc<[_]> = fields.iter().map(|&it| types.substituted(it, of)).collect();
        self.fields.insert((layout, of), Rc::clone(&fields));
        fields
    }

    /// The type of blocks that look so, of whose arguments nothing is known.
    pub(super) fn type_of(&mut self, layout: LayoutNumber) -> TypeNumber {
        match self.universe.layouts[layout.0 as usize].of {
            Some(declaration) => self.universe.instance(declaration),
            None => Types::ANY,
        }
    }

    /// Whether what is in a field may be of a type: so much deeper is looked.
    pub(super) fn content(&mut self, content: Content, of: TypeNumber, depth: u32) -> bool {
        match content {
            Content::Unknown => true,
            Content::Value => self.may_be_value(of),
            Content::Outside => self.may_be_pointer(of),
            Content::Block(id) => self.block(id, of, depth),
        }
    }

    pub(super) fn may_be_value(&self, of: TypeNumber) -> bool {
        match self.universe.types.of(of) {
            Type::Any | Type::Parameter(_) | Type::Immediate | Type::PolymorphicVariant => true,
            Type::Declared(DeclarationNumber(of), _) => {
                self.universe.declared[*of as usize].has_constants
            }
            _ => false,
        }
    }

    pub(super) fn may_be_pointer(&self, of: TypeNumber) -> bool {
        *self.universe.types.of(of) != Type::Immediate
    }

    /// Whether a block may be of a type.
    pub(super) fn block(&mut self, id: BlockId, of: TypeNumber, depth: u32) -> bool {
        let Some(sort) = self.blocks.sort(id) else { return false };
        let is_tagged = *sort == Sort::Tagged(0);
        let is = |form| *sort == Sort::Of(form);
        match self.universe.types.of(of) {
            Type::Any | Type::Parameter(_) => true,
            Type::Immediate => false,
            Type::String => is(Form::String),
            Type::Float => is(Form::Float),
            Type::Floats => is(Form::FloatArray),
            Type::Boxed(name) => matches!(sort, Sort::Custom(own) if own == name),
            Type::Closure => is(Form::Closure),
            Type::Object => is(Form::Object),
            Type::Exception => is_tagged || is(Form::Object),
            Type::Package => is_tagged,
            Type::PolymorphicVariant => {
                is_tagged
                    && self.blocks.size(id) == 2
                    && self.blocks.contents(id).first() == Some(&Content::Value)
            }
            Type::Array(element) => {
                let element = *element;
                let may_be_floats = is(Form::FloatArray);
                match (is_tagged, self.universe.types.of(element)) {
                    (false, Type::Any | Type::Parameter(_) | Type::Float) => may_be_floats,
                    (false, _) | (true, Type::Float) => false,
                    (true, _) => depth == 0 || self.elements(id, element, depth - 1),
                }
            }
            Type::Tuple(parts) => {
                let is_long_enough = parts.len() == self.blocks.size(id) as usize;
                let parts = parts.clone();
                is_tagged && is_long_enough && (depth == 0 || self.each(id, &parts, depth - 1))
            }
            Type::Declared(declaration, _) => match self.layout(id, *declaration) {
                None => false,
                Some(_) if depth == 0 => true,
                Some(layout) => {
                    let fields = self.fields(layout, of);
                    self.each(id, &fields, depth - 1)
                }
            },
        }
    }

    /// Which of a declaration's blocks that is.
    pub(super) fn layout(&self, id: BlockId, of: DeclarationNumber) -> Option<LayoutNumber> {
        let tag = match self.blocks.sort(id)? {
            Sort::Tagged(tag) => Some(*tag),
            Sort::Of(Form::FloatArray) => None,
            _ => return None,
        };
        let size = self.blocks.size(id) as usize;
        let mut layouts = self.universe.declared[of.0 as usize].layouts.iter();
        let looks_so = |it: &&LayoutNumber| {
            let layout = &self.universe.layouts[it.0 as usize];
            layout.tag == tag && layout.fields.len() == size
        };
        layouts.find(looks_so).copied()
    }

    /// Whether each field may be of its type.
    pub(super) fn each(&mut self, id: BlockId, fields: &[TypeNumber], depth: u32) -> bool {
        let contents = self.blocks.contents(id);
        contents.iter().zip(fields).all(|(&content, &of)| self.content(content, of, depth))
    }

    /// Whether all elements, of a long array the first ones, may be of one type.
    fn elements(&mut self, id: BlockId, of: TypeNumber, depth: u32) -> bool {
        let contents = self.blocks.contents(id);
        contents.iter().all(|&content| self.content(content, of, depth))
    }
}
