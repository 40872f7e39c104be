//! How the records of typed trees are told: by the number and the kinds of their fields.
//!
//! (`typing/typedtree.mli`, `typing/types.mli`, `typing/ident.ml`, `typing/path.mli`)

use crate::envelope::Version;
use crate::model::Name;
use crate::value::{Value, Values};

/// A path has no more components, and a functor is applied no more often.
const DEEPEST: usize = 64;

/// What an identifier stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ident {
    /// What is bound in this unit, by its stamp.
    Local(i32, String),
    /// Another unit.
    Global(String),
    /// What the compiler knows by itself.
    Predefined(String),
}

/// A path, before the names of what is bound in the unit are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// By stamp; and what follows, with a dot before each.
    Local(i32, String),
    /// In full.
    Named(Name),
}

pub(crate) fn ident(values: &Values, value: Value) -> Option<Ident> {
    let (tag, fields) = values.block(value)?;
    let name = values.string(*fields.first()?)?.to_owned();
    match (tag, fields) {
        (0, &[_, Value::Int(stamp)]) | (1, &[_, Value::Int(stamp), Value::Int(_)]) => {
            Some(Ident::Local(stamp, name))
        }
        (2, [_]) => Some(Ident::Global(name)),
        (3, [_, Value::Int(_)]) => Some(Ident::Predefined(name)),
        _ => None,
    }
}

pub(crate) fn path(values: &Values, value: Value) -> Path {
    let (mut at, mut components) = (value, Vec::new());
    while let Some(&[before, name]) = values.fields(at, 1) {
        let Some(name) = values.string(name).filter(|_| components.len() < DEEPEST) else {
            return Path::Named(Name::Unknown);
        };
        components.push(name);
        at = before;
    }
    let head = values.fields(at, 0).and_then(|&[head]| ident(values, head));
    let rest: String = components.iter().rev().flat_map(|it| [".", it]).collect();
    match head {
        Some(Ident::Local(stamp, _)) => Path::Local(stamp, rest),
        Some(Ident::Global(name)) => Path::Named(Name::Of(name + &rest)),
        Some(Ident::Predefined(name)) if rest.is_empty() => Path::Named(Name::Predefined(name)),
        _ => Path::Named(Name::Unknown),
    }
}

/// A name with its place in the source.
fn located(values: &Values, value: Value) -> Option<Value> {
    let &[it, location] = values.fields(value, 0)?;
    is_location(values, location).then_some(it)
}

fn is_location(values: &Values, value: Value) -> bool {
    let Some(&[begin, _, Value::Int(_)]) = values.fields(value, 0) else { return false };
    values.fields::<4>(begin, 0).is_some_and(|position| values.string(position[0]).is_some())
}

/// A declaration of a type: what it binds, and `Types.type_declaration`.
pub(crate) fn type_declaration(values: &Values, value: Value) -> Option<(Ident, Value)> {
    let fields = values.fields::<10>(value, 0)?;
    values.string(located(values, fields[1])?)?;
    Some((ident(values, fields[0])?, fields[3]))
}

/// A declaration of an exception: what it binds, and `Types.extension_constructor`.
pub(crate) fn extension_constructor(values: &Values, value: Value) -> Option<(Ident, Value)> {
    let fields = values.fields::<6>(value, 0)?;
    values.string(located(values, fields[1])?)?;
    values.fields::<8>(fields[2], 0)?;
    Some((ident(values, fields[0])?, fields[2]))
}

/// What a module is bound to.
pub(crate) struct Binding {
    pub(crate) stamp: i32,
    pub(crate) name: String,
    /// The expression of a module; of a declaration that has its type only, that.
    pub(crate) to: Value,
    pub(crate) is_declared: bool,
}

/// `module M = ...`, `module M : ...`.
pub(crate) fn module(values: &Values, value: Value, version: Version) -> Option<Binding> {
    let (tag, fields) = values.block(value)?;
    let to = *match (tag, version, fields.len()) {
        (0, Version::V4_13 | Version::V4_14, 6) => fields.get(3)?,
        (0, Version::V5_3, 7) => fields.get(4)?,
        _ => return None,
    };
    values.string(values.option(located(values, fields[1])?)??)?;
    let Some(Ident::Local(stamp, name)) = ident(values, values.option(fields[0])??) else {
        return None;
    };
    let expression = values.fields::<5>(to, 0)?;
    Some(Binding { stamp, name, to, is_declared: !is_location(values, expression[1]) })
}

/// `module type S = ...`: what it binds.
pub(crate) fn module_type(values: &Values, value: Value, version: Version) -> Option<Ident> {
    let (tag, fields) = values.block(value)?;
    let (to, count) = match version {
        Version::V4_13 | Version::V4_14 => (2, 5),
        Version::V5_3 => (3, 6),
    };
    if tag != 0 || fields.len() != count {
        return None;
    }
    values.string(located(values, fields[1])?)?;
    if let Some(to) = values.option(fields[to])? {
        values.fields::<5>(to, 0)?;
    }
    ident(values, fields[0])
}

/// Whether it is a module type, as it is written.
pub(crate) fn is_written_module_type(values: &Values, value: Value) -> bool {
    values.fields::<5>(value, 0).is_some_and(|fields| is_location(values, fields[3]))
}

/// The argument of a functor: what it binds.
pub(crate) fn argument(values: &Values, value: Value) -> Option<Ident> {
    let &[bound, name, of] = values.fields(value, 0)?;
    values.option(located(values, name)?)?;
    // The use of a variable looks much alike: a path, a located name, and a description of five fields.
    if !is_location(values, values.fields::<5>(of, 0)?[3]) {
        return None;
    }
    ident(values, values.option(bound)??)
}

/// The module that an expression of modules is, or the functor that makes it.
pub(crate) fn origin(values: &Values, expression: Value, version: Version) -> Option<Path> {
    let mut at = expression;
    for _ in 0..DEEPEST {
        let &[what, ..] = values.fields::<5>(at, 0)?;
        let (tag, fields) = values.block(what)?;
        at = *match (tag, version) {
            (0, _) => return Some(path(values, *fields.first()?)),
            (3 | 4, _) | (5, Version::V5_3) => fields.first()?,
            _ => return None,
        };
    }
    None
}
