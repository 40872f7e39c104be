//! Type expressions and declarations (`typing/types.mli`).

use rustc_hash::FxHashMap;

use crate::envelope::Version;
use crate::form::{Path, path};
use crate::model::{Constructor, Field, Kind, Representation, Type, TypeId};
use crate::value::{BlockId, Value, Values};

/// What is nested deeper is not known.
const DEEPEST: u32 = 100;

/// No more unifications lead from one expression to another.
const LONGEST: u32 = 1000;

const UNKNOWN: TypeId = TypeId(0);

/// The types of one file.
pub(crate) struct Types<'a> {
    values: &'a Values,
    version: Version,
    pub(crate) all: Vec<Type>,
    /// Names that wait for what is bound in the unit: of which type, and where.
    pub(crate) local: Vec<(TypeId, i32, String)>,
    known: FxHashMap<BlockId, TypeId>,
    /// How many elements of lists may still be read: hostile lists have no ends.
    budget: usize,
}

/// What a declaration says beside its name.
pub(crate) struct Declared {
    pub(crate) parameters: Vec<TypeId>,
    pub(crate) kind: Kind,
    pub(crate) manifest: Option<TypeId>,
}

/// The tags of `type_desc`.
mod desc {
    pub(super) const VARIABLE: u8 = 0;
    pub(super) const ARROW: u8 = 1;
    pub(super) const TUPLE: u8 = 2;
    pub(super) const NAMED: u8 = 3;
    pub(super) const OBJECT: u8 = 4;
    pub(super) const LINK: u8 = 6;
    pub(super) const VARIANT: u8 = 8;
    pub(super) const POLY: u8 = 10;
    pub(super) const PACKAGE: u8 = 11;
}

impl<'a> Types<'a> {
    pub(crate) fn of(values: &'a Values, version: Version) -> Types<'a> {
        let budget = 4 * values.fields.len() + 1000;
        let all = vec![Type::Unknown];
        Types { values, version, all, local: Vec::new(), known: FxHashMap::default(), budget }
    }

    /// The elements of a list, within the budget.
    fn list(&mut self, value: Value) -> Option<Vec<Value>> {
        let elements = self.values.list(value, self.budget)?;
        self.budget -= elements.len();
        Some(elements)
    }

    /// Whether a value has the form of a type expression; its description.
    pub(crate) fn description(&self, value: Value) -> Option<(u8, &'a [Value])> {
        let &[description, Value::Int(_), _, Value::Int(_)] = self.values.fields(value, 0)? else {
            return None;
        };
        self.values.block(description)
    }

    pub(crate) fn expression(&mut self, value: Value) -> TypeId {
        self.expression_at(value, 0)
    }

    /// What a type expression is unified with, and what a polymorphic one is about.
    fn linked(&self, value: Value) -> Value {
        let mut at = value;
        for _ in 0..LONGEST {
            match self.description(at) {
                Some((desc::LINK, &[to])) | Some((desc::POLY, &[to, _])) => at = to,
                _ => return at,
            }
        }
        Value::Other
    }

    fn expression_at(&mut self, value: Value, depth: u32) -> TypeId {
        let value = self.linked(value);
        let Value::Block(block) = value else { return UNKNOWN };
        if let Some(&known) = self.known.get(&block) {
            return known;
        }
        if depth > DEEPEST {
            return UNKNOWN;
        }
        let id = TypeId(self.all.len() as u32);
        self.all.push(Type::Unknown);
        self.known.insert(block, id);
        let found = self.described(value, id, depth + 1).unwrap_or(Type::Unknown);
        self.all[id.0 as usize] = found;
        id
    }

    fn described(&mut self, value: Value, id: TypeId, depth: u32) -> Option<Type> {
        let (tag, fields) = self.description(value)?;
        Some(match (tag, fields) {
            (desc::VARIABLE, [_]) => Type::Variable(id.0),
            (desc::ARROW, [_, _, _, _]) => Type::Arrow,
            (desc::TUPLE, &[elements]) => Type::Tuple(self.expressions(elements, depth)?),
            (desc::NAMED, &[name, arguments, _]) => {
                let arguments = self.expressions(arguments, depth)?;
                Type::Named(self.name(name, id), arguments)
            }
            (desc::OBJECT, [_, _]) => Type::Object,
            (desc::VARIANT, [_]) => Type::PolymorphicVariant,
            (desc::PACKAGE, [_, ..]) => Type::Package,
            _ => Type::Unknown,
        })
    }

    fn name(&mut self, value: Value, of: TypeId) -> crate::Name {
        match path(self.values, value) {
            Path::Named(name) => name,
            Path::Local(stamp, rest) => {
                self.local.push((of, stamp, rest));
                crate::Name::Unknown
            }
        }
    }

    fn expressions(&mut self, value: Value, depth: u32) -> Option<Vec<TypeId>> {
        let elements = self.list(value)?;
        Some(elements.into_iter().map(|it| self.expression_at(it, depth)).collect())
    }

    /// The elements of a list of type expressions; `None` if it is none.
    pub(crate) fn elements(&mut self, value: Value) -> Option<Vec<TypeId>> {
        self.expressions(value, 0)
    }

    /// What `Types.type_declaration` says.
    pub(crate) fn declaration(&mut self, value: Value) -> Option<Declared> {
        let &[parameters, Value::Int(_), kind, _, manifest, ..] =
            self.values.fields::<14>(value, 0)?
        else {
            return None;
        };
        Some(Declared {
            parameters: self.elements(parameters)?,
            kind: self.kind(kind)?,
            manifest: self.values.option(manifest)?.map(|it| self.expression(it)),
        })
    }

    fn kind(&mut self, value: Value) -> Option<Kind> {
        // From 5.1 on an abstract type says why it is one.
        let (abstract_, record) = match self.version {
            Version::V4_13 | Version::V4_14 => (None, 0),
            Version::V5_3 => (Some(0), 1),
        };
        if let Value::Int(constant) = value {
            let is_open = constant == i32::from(abstract_.is_none());
            return Some(if is_open { Kind::Open } else { Kind::Abstract });
        }
        match self.values.block(value)? {
            (tag, [_]) if Some(tag) == abstract_ => Some(Kind::Abstract),
            (tag, &[labels, representation]) if tag == record => {
                Some(Kind::Record(self.labels(labels)?, self.representation(representation)?))
            }
            (tag, &[constructors, representation]) if tag == record + 1 => {
                let constructors = self.list(constructors)?;
                let constructors = constructors.into_iter().map(|it| self.constructor(it));
                Some(Kind::Variant(constructors.collect::<Option<_>>()?, is_one(representation)))
            }
            _ => None,
        }
    }

    fn representation(&self, value: Value) -> Option<Representation> {
        match (value, self.values.block(value)) {
            (Value::Int(0), _) => Some(Representation::Regular),
            (Value::Int(1), _) => Some(Representation::Floats),
            (_, Some((0, [_]))) => Some(Representation::Unboxed),
            _ => None,
        }
    }

    fn labels(&mut self, value: Value) -> Option<Vec<Field>> {
        let labels = self.list(value)?;
        labels.into_iter().map(|it| self.label(it)).collect()
    }

    fn label(&mut self, value: Value) -> Option<Field> {
        let fields = self.values.fields::<6>(value, 0)?;
        let name = self.own_name(fields[0])?;
        Some(Field { name, r#type: self.expression(fields[2]) })
    }

    fn constructor(&mut self, value: Value) -> Option<Constructor> {
        let fields = self.values.fields::<6>(value, 0)?;
        Some(Constructor { name: self.own_name(fields[0])?, fields: self.arguments(fields[1])? })
    }

    /// What a constructor has: a tuple's elements, or a record's fields.
    fn arguments(&mut self, value: Value) -> Option<Vec<Field>> {
        match self.values.block(value)? {
            (0, &[elements]) => {
                let elements = self.elements(elements)?;
                let field = |it| Field { name: String::new(), r#type: it };
                Some(elements.into_iter().map(field).collect())
            }
            (1, &[labels]) => self.labels(labels),
            _ => None,
        }
    }

    /// What `Types.extension_constructor` says of its fields.
    pub(crate) fn exception(&mut self, value: Value) -> Option<Vec<Field>> {
        let fields = self.values.fields::<8>(value, 0)?;
        self.arguments(fields[2])
    }

    /// What a list of `Types.signature_item` has at run time, each of which has that type; `None` if it is no such list.
    pub(crate) fn signature(&mut self, value: Value) -> Option<Vec<TypeId>> {
        let items = self.list(value)?;
        let items: Option<Vec<_>> = items.into_iter().map(|it| self.item(it)).collect();
        Some(items?.into_iter().flatten().collect())
    }

    fn item(&mut self, value: Value) -> Option<Option<TypeId>> {
        let (tag, fields) = self.values.block(value)?;
        crate::form::ident(self.values, *fields.first()?)?;
        match (tag, fields) {
            (0, &[_, description, _]) => {
                let &[of, kind, ..] = self.values.fields::<5>(description, 0)?;
                let is_primitive = matches!(self.values.block(kind), Some((0, [_])));
                Some(if is_primitive { None } else { Some(self.expression(of)) })
            }
            (1, [_, _, _, _]) | (4, [_, _, _]) | (6, [_, _, _, _]) => Some(None),
            (2, [_, _, _, _]) | (5, [_, _, _, _]) => Some(Some(UNKNOWN)),
            (3, &[_, presence, _, _, _]) => Some((!is_one(presence)).then_some(UNKNOWN)),
            _ => None,
        }
    }

    fn own_name(&self, value: Value) -> Option<String> {
        match crate::form::ident(self.values, value)? {
            crate::form::Ident::Local(_, name) | crate::form::Ident::Predefined(name) => Some(name),
            crate::form::Ident::Global(_) => None,
        }
    }
}

fn is_one(value: Value) -> bool {
    value == Value::Int(1)
}
