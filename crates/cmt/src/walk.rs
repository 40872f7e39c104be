//! The walk through a typed tree: where types are declared, and within which modules.

use rustc_hash::FxHashMap;

use crate::envelope::Version;
use crate::form::{self, Ident, Path};
use crate::marshal::Malformed;
use crate::model::{Alias, Declaration, Exception, Name, Type, TypeId, Unit};
use crate::types::Types;
use crate::value::{BlockId, Value, Values};

/// Where in a unit something is.
#[derive(Clone, Debug)]
struct Place {
    /// The modules around it, the unit first.
    within: String,
    /// Whether it is in a module type.
    is_required: bool,
}

/// Tags of `Types.type_desc` and `Types.module_type`, and how many fields they have.
const TUPLE: (u8, usize) = (2, 1);
const NAMED: (u8, usize) = (3, 3);
const VARIANT: (u8, usize) = (8, 1);
const SIGNATURE: u8 = 1;

/// The tag of `Cmt_format.binary_annots` that says that the file is of an implementation.
const IMPLEMENTATION: u8 = 1;

struct Walk<'a> {
    values: &'a Values,
    version: Version,
    types: Types<'a>,
    unit: Unit,
    places: Vec<Place>,
    /// Whether modules are implemented in it, so that what is declared in their types says the same once more.
    is_implementation: bool,
    /// By stamp, what is bound in the unit.
    bound: FxHashMap<i32, String>,
    /// How many are called so.
    called: FxHashMap<String, u32>,
    /// Aliases of what is bound in the unit.
    aliases: Vec<(String, Path)>,
}

/// What a file says whose root value is that.
///
/// # Errors
/// If the values are no typed tree.
pub(crate) fn unit(values: &Values, version: Version) -> Result<Unit, Malformed> {
    let root = values.root.ok_or(Malformed::NoTree)?;
    let (_, infos) = values.block(root).ok_or(Malformed::NoTree)?;
    let &[name, tree, _, _, _, _, _, load_path, _, _, imports, ..] = infos else {
        return Err(Malformed::NoTree);
    };
    let name = values.string(name).ok_or(Malformed::NoTree)?.to_owned();
    let place = Place { within: name.clone(), is_required: false };
    let load_path = load_path_of(values, load_path).ok_or(Malformed::NoTree)?;
    let imports = imports_of(values, imports).ok_or(Malformed::NoTree)?;
    let mut walk = Walk {
        values,
        version,
        types: Types::of(values, version),
        unit: Unit { name, imports, load_path, ..Unit::default() },
        places: vec![place],
        is_implementation: matches!(values.block(tree), Some((IMPLEMENTATION, _))),
        bound: FxHashMap::default(),
        called: FxHashMap::default(),
        aliases: Vec::new(),
    };
    walk.all(tree);
    Ok(walk.finish())
}

/// A list of folders, or in later versions two.
fn load_path_of(values: &Values, value: Value) -> Option<Vec<String>> {
    let most = values.blocks.len();
    let folders = |value| -> Option<Vec<String>> {
        let folders = values.list(value, most)?;
        folders.into_iter().map(|it| values.string(it).map(str::to_owned)).collect()
    };
    folders(value).or_else(|| {
        let &[visible, hidden] = values.fields(value, 0)?;
        Some([folders(visible)?, folders(hidden)?].concat())
    })
}

fn imports_of(values: &Values, value: Value) -> Option<Vec<String>> {
    let imports = values.list(value, values.blocks.len())?;
    let name = |it| values.fields::<2>(it, 0).and_then(|import| values.string(import[0]));
    imports.into_iter().map(|it| name(it).map(str::to_owned)).collect()
}

impl Walk<'_> {
    /// All that can be reached, each block once, in the order of the source.
    fn all(&mut self, tree: Value) {
        let mut was_met = vec![false; self.values.blocks.len()];
        let mut waiting = vec![(tree, 0u32)];
        while let Some((value, place)) = waiting.pop() {
            let Value::Block(BlockId(id)) = value else { continue };
            if std::mem::replace(&mut was_met[id as usize], true) {
                continue;
            }
            let place = self.enter(value, place);
            let (_, fields) = self.values.block(value).unwrap_or_default();
            waiting.extend(fields.iter().rev().map(|&field| (field, place)));
        }
    }

    /// What a block says by itself; where that is which it leads to.
    fn enter(&mut self, value: Value, place: u32) -> u32 {
        let values = self.values;
        let Some((tag, fields)) = values.block(value) else { return place };
        match (tag, fields.len()) {
            (0, 4) => self.occurrence(value),
            (0, 10) => self.declaration(value, place),
            (SIGNATURE, 1) => self.signature(fields[0]),
            (0, 3) => {
                if let Some(ident) = form::argument(values, value) {
                    return self.bind(&ident, place, true);
                }
            }
            (0, 5..=7) => return self.module(value, place),
            _ => (),
        }
        place
    }

    fn module(&mut self, value: Value, place: u32) -> u32 {
        if let Some(binding) = form::module(self.values, value, self.version) {
            let ident = Ident::Local(binding.stamp, binding.name);
            let inner = self.bind(&ident, place, false);
            if !binding.is_declared
                && let Some(origin) = form::origin(self.values, binding.to, self.version)
            {
                self.aliases.push((self.places[inner as usize].within.clone(), origin));
            }
            return inner;
        }
        if let Some(ident) = form::module_type(self.values, value, self.version) {
            return self.bind(&ident, place, true);
        }
        if let Some((ident, exception)) = form::extension_constructor(self.values, value)
            && let Some(fields) = self.types.exception(exception)
        {
            let name = self.name(&ident, place);
            self.unit.exceptions.push(Exception { name, fields });
        }
        if self.is_implementation && form::is_written_module_type(self.values, value) {
            let within = self.places[place as usize].within.clone();
            self.places.push(Place { within, is_required: true });
            return self.places.len() as u32 - 1;
        }
        place
    }

    /// The place within a module.
    fn bind(&mut self, ident: &Ident, place: u32, is_required: bool) -> u32 {
        let within = self.name(ident, place);
        let is_required = is_required || self.places[place as usize].is_required;
        self.places.push(Place { within, is_required });
        self.places.len() as u32 - 1
    }

    /// What is called so in full, and by nothing else in the unit.
    fn name(&mut self, ident: &Ident, place: u32) -> String {
        let (Ident::Local(_, own) | Ident::Global(own) | Ident::Predefined(own)) = ident;
        let mut name = format!("{}.{own}", self.places[place as usize].within);
        let called = self.called.entry(name.clone()).or_default();
        *called += 1;
        if *called > 1 {
            name += &format!("/{called}");
        }
        if let Ident::Local(stamp, _) = ident {
            self.bound.insert(*stamp, name.clone());
        }
        name
    }

    fn declaration(&mut self, value: Value, place: u32) {
        let Some((ident, declared)) = form::type_declaration(self.values, value) else { return };
        let Some(declared) = self.types.declaration(declared) else { return };
        let name = self.name(&ident, place);
        self.unit.declarations.push(Declaration {
            name,
            is_required: self.places[place as usize].is_required,
            parameters: declared.parameters,
            kind: declared.kind,
            manifest: declared.manifest,
        });
    }

    /// What a type expression shows that occurs anywhere.
    fn occurrence(&mut self, value: Value) {
        let Some((tag, fields)) = self.types.description(value) else { return };
        match (tag, fields.len()) {
            TUPLE => self.unit.tuples.extend(self.types.elements(fields[0])),
            NAMED => {
                let id = self.types.expression(value);
                if let Type::Named(Name::Predefined(name), of) = &self.types.all[id.0 as usize]
                    && let ("array", &[of]) = (name.as_str(), &of[..])
                {
                    self.unit.arrays.push(of);
                }
            }
            VARIANT => self.unit.has_polymorphic_variants = true,
            _ => (),
        }
    }

    fn signature(&mut self, items: Value) {
        let fields = self.types.signature(items).filter(|fields| !fields.is_empty());
        self.unit.modules.extend(fields);
    }

    /// Gives all names.
    fn finish(self) -> Unit {
        let Walk { types, mut unit, bound, aliases, .. } = self;
        let full = |stamp: i32, rest: &str| {
            bound.get(&stamp).map_or(Name::Unknown, |name| Name::Of(format!("{name}{rest}")))
        };
        unit.types = types.all;
        for (TypeId(of), stamp, rest) in types.local {
            if let Type::Named(name, _) = &mut unit.types[of as usize] {
                *name = full(stamp, &rest);
            }
        }
        let alias = |(from, to)| match to {
            Path::Named(to) => Alias { from, to },
            Path::Local(stamp, rest) => Alias { from, to: full(stamp, &rest) },
        };
        unit.aliases = aliases.into_iter().map(alias).collect();
        unit
    }
}
