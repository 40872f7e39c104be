//! Types, each once.

use rustc_hash::FxHashMap;

/// The number of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TypeNumber(pub(crate) u32);

/// The number of a declaration with blocks of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DeclarationNumber(pub(crate) u32);

/// A type, as far as it says what its values look like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    /// Anything.
    Any,
    /// No pointer.
    Immediate,
    String,
    Float,
    /// A custom block of that name.
    Boxed(&'static str),
    Closure,
    Object,
    /// Numbers without boxes.
    Floats,
    /// What may be extended.
    Exception,
    Array(TypeNumber),
    Tuple(Box<[TypeNumber]>),
    /// A record, or one of several constructors.
    Declared(DeclarationNumber, Box<[TypeNumber]>),
    /// What the declaration is given, by number.
    Parameter(u32),
    PolymorphicVariant,
    Package,
}

/// All types that have occurred.
#[derive(Debug)]
pub(crate) struct Types {
    all: Vec<(Type, u32)>,
    numbers: FxHashMap<Type, TypeNumber>,
    substituted: FxHashMap<(TypeNumber, TypeNumber), TypeNumber>,
}

/// Types that are nested deeper are not told apart: a type may be declared to have ever deeper ones of itself.
const DEEPEST: u32 = 12;

impl Types {
    /// Anything.
    pub(crate) const ANY: TypeNumber = TypeNumber(0);

    pub(crate) fn new() -> Types {
        let mut types = Types {
            all: Vec::new(),
            numbers: FxHashMap::default(),
            substituted: FxHashMap::default(),
        };
        types.number(Type::Any);
        types
    }

    pub(crate) fn of(&self, number: TypeNumber) -> &Type {
        &self.all[number.0 as usize].0
    }

    pub(crate) fn number(&mut self, of: Type) -> TypeNumber {
        if let Some(&known) = self.numbers.get(&of) {
            return known;
        }
        let parts = match &of {
            Type::Array(of) => std::slice::from_ref(of),
            Type::Tuple(of) | Type::Declared(_, of) => of,
            _ => &[],
        };
        let depth = parts.iter().map(|part| self.all[part.0 as usize].1 + 1).max().unwrap_or(0);
        if depth > DEEPEST {
            return Types::ANY;
        }
        let number = TypeNumber(self.all.len() as u32);
        self.all.push((of.clone(), depth));
        self.numbers.insert(of, number);
        number
    }

    /// A type within a declaration, of which `instance` is the type; anything for what that does not say.
    pub(crate) fn substituted(&mut self, within: TypeNumber, instance: TypeNumber) -> TypeNumber {
        if let Some(&known) = self.substituted.get(&(within, instance)) {
            return known;
        }
        let of = match self.of(within).clone() {
            Type::Parameter(number) => {
                return match self.of(instance) {
                    Type::Declared(_, arguments) => {
                        arguments.get(number as usize).copied().unwrap_or(Types::ANY)
                    }
                    _ => Types::ANY,
                };
            }
            Type::Array(of) => Type::Array(self.substituted(of, instance)),
            Type::Tuple(parts) => Type::Tuple(self.each(&parts, instance)),
            Type::Declared(of, arguments) => Type::Declared(of, self.each(&arguments, instance)),
            other => other,
        };
        let number = self.number(of);
        self.substituted.insert((within, instance), number);
        number
    }

    fn each(&mut self, parts: &[TypeNumber], instance: TypeNumber) -> Box<[TypeNumber]> {
        parts.iter().map(|&part| self.substituted(part, instance)).collect()
    }
}
