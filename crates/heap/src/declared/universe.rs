//! All types that there are, and how blocks of them look.

use lifetrace_cmt::{self as cmt, Kind, Name, Representation};
use rustc_hash::{FxHashMap, FxHashSet};

use super::naming::{Names, Place, for_people};
use super::sources::Sources;
use super::types::{DeclarationNumber, Type, TypeNumber, Types};

/// Types that stand for others do not do so any deeper.
const DEEPEST: u32 = 32;

/// What takes more steps to say of one declaration is not said: types may share parts so that written out they are
/// endless.
const MOST_STEPS: u32 = 20_000;

/// The number of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LayoutNumber(pub(crate) u32);

/// How blocks of a type look.
#[derive(Debug)]
pub(crate) struct Layout {
    /// What one is called.
    pub(crate) name: String,
    /// Whose blocks they are; of what nobody has declared, nothing.
    pub(crate) of: Option<DeclarationNumber>,
    /// Of numbers without boxes, nothing.
    pub(crate) tag: Option<u8>,
    /// Where they have parameters of the declaration, by their numbers.
    pub(crate) fields: Vec<TypeNumber>,
    /// What fields are called; empty of those that are not.
    pub(crate) names: Vec<String>,
}

/// A declaration with blocks of its own.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    pub(crate) has_constants: bool,
    pub(crate) layouts: Vec<LayoutNumber>,
    parameters: u32,
}

/// All types that there are.
#[derive(Debug)]
pub(crate) struct Universe {
    pub(crate) types: Types,
    pub(crate) layouts: Vec<Layout>,
    pub(crate) declared: Vec<Declared>,
    /// By tag and number of fields.
    pub(crate) by_form: FxHashMap<(Option<u8>, u32), Vec<LayoutNumber>>,
    /// What elements of arrays are, where that is known.
    pub(crate) elements: Vec<TypeNumber>,
}

/// The universe in the making.
struct Making<'a> {
    names: Names<'a>,
    universe: Universe,
    numbers: FxHashMap<Place, DeclarationNumber>,
    list: DeclarationNumber,
    option: DeclarationNumber,
    /// How many have been taken for a declaration.
    steps: u32,
}

/// Where a type expression stands.
struct Scope<'a> {
    unit: usize,
    /// By variable.
    variables: &'a FxHashMap<u32, TypeNumber>,
    depth: u32,
}

impl Universe {
    /// Of what has been read.
    pub(crate) fn of(sources: &Sources) -> Universe {
        let mut universe = Universe {
            types: Types::new(),
            layouts: Vec::new(),
            declared: Vec::new(),
            by_form: FxHashMap::default(),
            elements: Vec::new(),
        };
        let [list, option] = universe.predefined();
        let names = Names::of(sources);
        let numbers = FxHashMap::default();
        let mut making = Making { names, universe, numbers, list, option, steps: 0 };
        making.all();
        making.universe
    }

    /// Lists and options.
    fn predefined(&mut self) -> [DeclarationNumber; 2] {
        let [list, option] = [0, 1].map(DeclarationNumber);
        for _ in [list, option] {
            self.declared.push(Declared {
                has_constants: true,
                layouts: Vec::new(),
                parameters: 1,
            });
        }
        let element = self.types.number(Type::Parameter(0));
        let rest = self.types.number(Type::Declared(list, Box::new([element])));
        self.layout("list cell".to_owned(), Some(list), Some(0), vec![element, rest], Vec::new());
        self.layout("Some of option".to_owned(), Some(option), Some(0), vec![element], Vec::new());
        [list, option]
    }

    fn layout(
        &mut self,
        name: String,
        of: Option<DeclarationNumber>,
        tag: Option<u8>,
        fields: Vec<TypeNumber>,
        names: Vec<String>,
    ) {
        let number = LayoutNumber(self.layouts.len() as u32);
        self.by_form.entry((tag, fields.len() as u32)).or_default().push(number);
        if let Some(DeclarationNumber(of)) = of {
            self.declared[of as usize].layouts.push(number);
        }
        self.layouts.push(Layout { name, of, tag, fields, names });
    }

    /// The type of a declaration of whose arguments nothing is known.
    pub(crate) fn instance(&mut self, of: DeclarationNumber) -> TypeNumber {
        let arguments = vec![Types::ANY; self.declared[of.0 as usize].parameters as usize];
        self.types.number(Type::Declared(of, arguments.into()))
    }
}

impl Making<'_> {
    fn all(&mut self) {
        let mut places: Vec<Place> = Vec::new();
        for place in self.names.declared() {
            let is_own = self.names.origin(place) == place;
            if is_own && has_blocks(&self.names.declaration(place).kind) {
                places.push(place);
            }
        }
        for &place in &places {
            let number = DeclarationNumber(self.universe.declared.len() as u32);
            let parameters = self.names.declaration(place).parameters.len() as u32;
            self.universe.declared.push(Declared { parameters, ..Declared::default() });
            self.numbers.insert(place, number);
        }
        places.iter().for_each(|&place| self.declared(place));
        self.undeclared();
    }

    fn declared(&mut self, place: Place) {
        let declaration = self.names.declaration(place);
        let (name, of) = (for_people(&declaration.name), self.numbers[&place]);
        let variables = self.parameters(place);
        let scope = Scope { unit: place.0, variables: &variables, depth: 0 };
        match &declaration.kind {
            Kind::Record(fields, Representation::Floats) => {
                self.fields(name, Some(of), None, &scope, fields);
            }
            Kind::Record(fields, _) => self.fields(name, Some(of), Some(0), &scope, fields),
            Kind::Variant(constructors, _) => {
                let blocks = constructors.iter().filter(|it| !it.fields.is_empty());
                for (tag, it) in blocks.enumerate() {
                    let name = format!("{} of {name}", it.name);
                    // No more than 246 constructors have blocks.
                    let tag = u8::try_from(tag).unwrap_or(u8::MAX);
                    self.fields(name, Some(of), Some(tag), &scope, &it.fields);
                }
                self.universe.declared[of.0 as usize].has_constants =
                    constructors.iter().any(|it| it.fields.is_empty());
            }
            Kind::Abstract | Kind::Open => (),
        }
    }

    fn fields(
        &mut self,
        name: String,
        of: Option<DeclarationNumber>,
        tag: Option<u8>,
        scope: &Scope<'_>,
        fields: &[cmt::Field],
    ) {
        self.steps = 0;
        let names = fields.iter().map(|it| it.name.clone()).collect();
        let types = fields.iter().map(|it| self.translated(scope, it.r#type)).collect();
        self.universe.layout(name, of, tag, types, names);
    }

    /// What the variables of a declaration stand for.
    fn parameters(&mut self, (unit, number): Place) -> FxHashMap<u32, TypeNumber> {
        let parameters = &self.names.declaration((unit, number)).parameters;
        let parameters = (0..).zip(parameters).map(|(number, &parameter)| {
            let number = self.universe.types.number(Type::Parameter(number));
            (variable(self.names.types(unit), parameter), number)
        });
        parameters.filter_map(|(variable, number)| Some((variable?, number))).collect()
    }

    /// What blocks may be beside: tuples, modules, exceptions, polymorphic variants, arrays.
    fn undeclared(&mut self) {
        let (mut seen, nothing) = (FxHashSet::default(), FxHashMap::default());
        let units: Vec<_> = self.names.units().collect();
        let mut elements = FxHashSet::default();
        let mut has_polymorphic_variants = false;
        for (unit, found) in units {
            let scope = Scope { unit, variables: &nothing, depth: 0 };
            for (what, all) in [("tuple", &found.unit.tuples), ("module", &found.unit.modules)] {
                for fields in all {
                    self.steps = 0;
                    let fields: Vec<_> =
                        fields.iter().map(|&it| self.translated(&scope, it)).collect();
                    if seen.insert((what, fields.clone())) {
                        self.universe.layout(what.to_owned(), None, Some(0), fields, Vec::new());
                    }
                }
            }
            for &of in &found.unit.arrays {
                self.steps = 0;
                elements.insert(self.translated(&scope, of));
            }
            found.unit.exceptions.iter().for_each(|it| self.exception(&scope, it));
            has_polymorphic_variants |= found.unit.has_polymorphic_variants;
        }
        if has_polymorphic_variants {
            let fields = vec![self.universe.types.number(Type::Immediate), Types::ANY];
            let name = "polymorphic variant".to_owned();
            self.universe.layout(name, None, Some(0), fields, Vec::new());
        }
        self.predefined_exceptions();
        // Of arrays that may have anything nothing is said here: where they are used, their elements have types.
        elements.remove(&Types::ANY);
        self.universe.elements = elements.into_iter().collect();
    }

    /// Its identity is an object, in its first field.
    fn exception(&mut self, scope: &Scope<'_>, exception: &cmt::Exception) {
        if exception.fields.is_empty() {
            return;
        }
        self.steps = 0;
        let mut types = vec![self.universe.types.number(Type::Object)];
        types.extend(exception.fields.iter().map(|it| self.translated(scope, it.r#type)));
        let names = exception.fields.iter().map(|it| it.name.clone());
        let names = std::iter::once(String::new()).chain(names).collect();
        let name = format!("exception {}", for_people(&exception.name));
        self.universe.layout(name, None, Some(0), types, names);
    }

    fn predefined_exceptions(&mut self) {
        let [identity, string] =
            [Type::Object, Type::String].map(|it| self.universe.types.number(it));
        for argument in [string, Types::ANY] {
            let name = "predefined exception".to_owned();
            self.universe.layout(name, None, Some(0), vec![identity, argument], Vec::new());
        }
    }

    /// What a type expression means.
    fn translated(&mut self, scope: &Scope<'_>, of: cmt::TypeId) -> TypeNumber {
        let types = self.names.types(scope.unit);
        let deeper = Scope { depth: scope.depth + 1, ..*scope };
        self.steps += 1;
        if scope.depth > DEEPEST || self.steps > MOST_STEPS {
            return Types::ANY;
        }
        let found = match types.get(of.0 as usize) {
            None | Some(cmt::Type::Unknown) => Type::Any,
            Some(cmt::Type::Variable(number)) => {
                return scope.variables.get(number).copied().unwrap_or(Types::ANY);
            }
            Some(cmt::Type::Arrow) => Type::Closure,
            Some(cmt::Type::Object) => Type::Object,
            Some(cmt::Type::PolymorphicVariant) => Type::PolymorphicVariant,
            Some(cmt::Type::Package) => Type::Package,
            Some(cmt::Type::Tuple(parts)) => {
                Type::Tuple(parts.iter().map(|&it| self.translated(&deeper, it)).collect())
            }
            Some(cmt::Type::Named(name, arguments)) => {
                let arguments: Vec<_> =
                    arguments.iter().map(|&it| self.translated(&deeper, it)).collect();
                return self.named(name, &arguments, scope.depth);
            }
        };
        self.universe.types.number(found)
    }

    fn named(&mut self, name: &Name, arguments: &[TypeNumber], depth: u32) -> TypeNumber {
        match name {
            Name::Unknown => Types::ANY,
            Name::Predefined(name) => self.by_compiler(name, arguments),
            Name::Of(name) => match self.names.find(name) {
                Some(place) => self.meant(self.names.origin(place), arguments, depth),
                None => Types::ANY,
            },
        }
    }

    fn by_compiler(&mut self, name: &str, arguments: &[TypeNumber]) -> TypeNumber {
        let found = match (name, arguments) {
            ("int" | "char" | "bool" | "unit", []) => Type::Immediate,
            ("string" | "bytes", []) => Type::String,
            ("float", []) => Type::Float,
            ("floatarray", []) => Type::Floats,
            ("int32", []) => Type::Boxed("custom int32"),
            ("int64", []) => Type::Boxed("custom int64"),
            ("nativeint", []) => Type::Boxed("custom nativeint"),
            ("exn", []) => Type::Exception,
            ("array" | "iarray", &[of]) => Type::Array(of),
            ("list", &[of]) => Type::Declared(self.list, Box::new([of])),
            ("option", &[of]) => Type::Declared(self.option, Box::new([of])),
            _ => Type::Any,
        };
        self.universe.types.number(found)
    }

    /// What a declaration with these arguments means.
    fn meant(&mut self, place: Place, arguments: &[TypeNumber], depth: u32) -> TypeNumber {
        if let Some(&number) = self.numbers.get(&place) {
            return self.universe.types.number(Type::Declared(number, arguments.into()));
        }
        let declaration = self.names.declaration(place);
        let types = self.names.types(place.0);
        let parameters = declaration.parameters.iter().map(|&it| variable(types, it));
        let variables: FxHashMap<u32, TypeNumber> = parameters
            .zip(arguments)
            .filter_map(|(variable, &argument)| Some((variable?, argument)))
            .collect();
        let scope = Scope { unit: place.0, variables: &variables, depth: depth + 1 };
        let of = match (&declaration.kind, declaration.manifest) {
            (Kind::Abstract, Some(manifest)) => Some(manifest),
            (Kind::Record(fields, Representation::Unboxed), _) => only(fields),
            (Kind::Variant(constructors, true), _) => {
                constructors.first().and_then(|it| only(&it.fields))
            }
            (Kind::Variant(constructors, false), _) if constructors.iter().all(is_constant) => {
                return self.universe.types.number(Type::Immediate);
            }
            (Kind::Open, _) => return self.universe.types.number(Type::Exception),
            _ => None,
        };
        of.map_or(Types::ANY, |of| self.translated(&scope, of))
    }
}

fn has_blocks(kind: &Kind) -> bool {
    match kind {
        Kind::Record(_, representation) => *representation != Representation::Unboxed,
        Kind::Variant(constructors, is_unboxed) => {
            !is_unboxed && !constructors.iter().all(is_constant)
        }
        Kind::Abstract | Kind::Open => false,
    }
}

fn is_constant(constructor: &cmt::Constructor) -> bool {
    constructor.fields.is_empty()
}

fn only(fields: &[cmt::Field]) -> Option<cmt::TypeId> {
    if let [field] = fields { Some(field.r#type) } else { None }
}

fn variable(types: &[cmt::Type], of: cmt::TypeId) -> Option<u32> {
    match types.get(of.0 as usize) {
        Some(cmt::Type::Variable(number)) => Some(*number),
        _ => None,
    }
}
