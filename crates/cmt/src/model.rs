//! What is read of a file.

/// The number of a type expression within its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// What a type is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// By the compiler: `int`, `list`.
    Predefined(String),
    /// Within a unit: `Cache.Entry.t`.
    Of(String),
    /// What is not called by anything that could be looked up: an argument of a functor's, the type of an inline record.
    Unknown,
}

/// A type expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Nothing that is known: anything may be of it.
    Unknown,
    /// A variable, by its number in the unit.
    Variable(u32),
    /// A function's.
    Arrow,
    /// A tuple's.
    Tuple(Vec<TypeId>),
    /// A name with its arguments.
    Named(Name, Vec<TypeId>),
    /// An object's with methods.
    Object,
    /// A polymorphic variant's.
    PolymorphicVariant,
    /// A first-class module's.
    Package,
}

/// What one file says.
#[derive(Debug, Default)]
pub struct Unit {
    /// What the compiler calls the unit: `Stdlib__Map`.
    pub name: String,
    /// By [`TypeId`].
    pub types: Vec<Type>,
    /// All that are written anywhere in it.
    pub declarations: Vec<Declaration>,
    /// Constructors of exceptions, and of other types that can be extended.
    pub exceptions: Vec<Exception>,
    /// Modules that are others by another name, or what functors make.
    pub aliases: Vec<Alias>,
    /// Tuples that occur anywhere in the unit, as the types of their elements.
    pub tuples: Vec<Vec<TypeId>>,
    /// What elements of arrays that occur anywhere in the unit are.
    pub arrays: Vec<TypeId>,
    /// What the fields of modules are that occur anywhere in the unit.
    pub modules: Vec<Vec<TypeId>>,
    /// Whether there are polymorphic variants in it.
    pub has_polymorphic_variants: bool,
    /// Units that this one was compiled against, itself included.
    pub imports: Vec<String>,
    /// Where the compiler looked for these.
    pub load_path: Vec<String>,
}

/// The declaration of a type.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// `Cache.Entry.t`; the second of that name in the unit is `Cache.Entry.t/2`.
    pub name: String,
    /// Whether it only says what a module is to have: in a module type, or of a functor's argument.
    pub is_required: bool,
    /// What it has variables for.
    pub parameters: Vec<TypeId>,
    /// What its values are.
    pub kind: Kind,
    /// What it is equal to.
    pub manifest: Option<TypeId>,
}

/// What the values of a type are.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Nobody says.
    Abstract,
    /// What may be extended: exceptions.
    Open,
    /// Records.
    Record(Vec<Field>, Representation),
    /// One of several constructors; whether the only one has no box.
    Variant(Vec<Constructor>, bool),
}

/// How records are represented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    /// A field for each.
    Regular,
    /// The numbers themselves, of a record of nothing but floating-point numbers.
    Floats,
    /// As its only field.
    Unboxed,
}

/// A constructor of a type.
#[derive(Clone, Debug)]
pub struct Constructor {
    /// Its name.
    pub name: String,
    /// What it has.
    pub fields: Vec<Field>,
}

/// A constructor of an exception, which has its own identity before its fields.
#[derive(Clone, Debug)]
pub struct Exception {
    /// `Cache.Full`.
    pub name: String,
    /// What it has.
    pub fields: Vec<Field>,
}

/// A field of a block.
#[derive(Clone, Debug)]
pub struct Field {
    /// Empty if it has none.
    pub name: String,
    /// What is in it.
    pub r#type: TypeId,
}

/// A module that is another by another name, or what a functor makes.
#[derive(Clone, Debug)]
pub struct Alias {
    /// `Cache.Names`
    pub from: String,
    /// `Stdlib__Map.Make`
    pub to: Name,
}
